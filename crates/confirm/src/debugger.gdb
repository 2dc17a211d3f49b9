# Commands that gdb runs after it has stopped: which threads stand where, and the program's innermost frame.
# The runtime and the C library have no line information, so the first frame that has is the program's.
python
def deadheat_user_frame():
    frame = gdb.newest_frame()
    while frame is not None and frame.find_sal().symtab is None:
        frame = frame.older()
    return frame

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

deadheat_stopped()
end
