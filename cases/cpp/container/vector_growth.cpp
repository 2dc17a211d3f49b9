//@ expect: real
// A vector grows under one thread while another asks for its size.
#include <thread>
#include <vector>

std::vector<int> values;

int main() {
    values.reserve(4);
    std::size_t seen = 0;
    std::thread writer([] {
        values.push_back(1); // RACE!(a)
    });
    std::thread reader([&] {
        seen = values.size(); // RACE!(a)
    });
    writer.join();
    reader.join();
    return seen > 1;
}
