//@ expect: none
// Containers may be read by all while nobody changes them; elements of their own may be written.
#include <map>
#include <string>
#include <thread>
#include <vector>

int main() {
    std::map<int, std::string> names = {{1, "one"}, {2, "two"}, {3, "three"}};
    std::vector<std::size_t> lengths(2);
    auto work = [&](int i) {
        auto it = names.find(i + 1);
        lengths[i] = it == names.end() ? 0 : it->second.size();
    };
    std::thread t(work, 0), u(work, 1);
    t.join();
    u.join();
    return lengths[0] + lengths[1] != 6;
}
