# Commands that gdb runs: start the program, stop at what is to be seen, say which threads stand where, and select
# the program's innermost frame. Children of the program are debugged too, since the race may be in one.
# The runtime and the C library have no line information, so the first frame that has is the program's.
python
import os

DEADHEAT_STUCK = 66
EXIT_GROUP = 231

# The race raises SIGTRAP, a crash its own signal. Without either the program is stopped where it exits, and a child
# only if it exits for being stuck.
def deadheat_to_the_end():
    while True:
        live = [inferior for inferior in gdb.inferiors() if inferior.pid != 0]
        if not live:
            return
        inferior = gdb.selected_inferior()
        if inferior.pid == 0:
            live[0].threads()[0].switch()
        else:
            exits = int(gdb.parse_and_eval("(long)$orig_rax")) == EXIT_GROUP
            stuck = int(gdb.parse_and_eval("(int)$rdi")) == DEADHEAT_STUCK
            if not exits or stuck or inferior.num == 1:
                return
        gdb.execute("continue", to_string=True)

def deadheat_user_frame():
    frame = gdb.newest_frame()
    system = None
    while frame is not None:
        symtab = frame.find_sal().symtab
        if symtab is not None:
            if os.path.exists(symtab.fullname()):
                return frame
            system = system or frame
        frame = frame.older()
    return system

def deadheat_at_site():
    frame = gdb.newest_frame()
    while frame is not None:
        if frame.name() == "dh_site_entry":
            return True
        frame = frame.older()
    return False

def deadheat_stopped():
    stopped = gdb.selected_thread()
    if stopped is None:
        print("deadheat: the program ended and did not stop")
        return
    for thread in sorted(gdb.selected_inferior().threads(), key=lambda t: t.num):
        thread.switch()
        frame = deadheat_user_frame()
        if frame is None:
            continue
        where = frame.find_sal()
        place = "%s:%d in %s" % (where.symtab.filename, where.line, frame.name())
        what = "about to access memory at" if deadheat_at_site() else "at"
        print("deadheat: T%d (gdb thread %d) %s %s" % (thread.num - 1, thread.num, what, place))
    stopped.switch()
    frame = deadheat_user_frame()
    if frame is not None:
        frame.select()
        gdb.execute("frame")

gdb.execute("run < " + DEADHEAT_STDIN)
deadheat_to_the_end()
deadheat_stopped()
end
