import Foundation
import LMDBCaching

/// Resident memory per entry of the memory tier beyond key and value.
struct EntrySize: Figure {
  let name = "memory.perEntry"
  private let count = 1_000_000

  func measure(_ setup: Setup) throws -> [Result] {
    // Small strings and integers are inside the entry: all that grows is the tier.
    let integers = MemoryCache<Int, Int>()
    var before = residentBytes()
    for number in 0..<count { integers.set(number, forKey: number) }
    let perInteger = Double(residentBytes() - before) / Double(count)
    precondition(integers.count == count)

    let limited = MemoryCache<Int, Int>(countLimit: count)
    before = residentBytes()
    for number in 0..<count * 2 { limited.set(number, forKey: number) }
    let perLimited = Double(residentBytes() - before) / Double(count)
    precondition(limited.count == count)
    let own = Double(2 * MemoryLayout<Int>.size)
    return [
      Result(
        name: "\(name), growing", value: perInteger - own, unit: "bytes", goal: 150,
        detail: "1,000,000 entries, key and value of 8 bytes each"),
      Result(
        name: "\(name), full and evicting", value: perLimited - own, unit: "bytes", goal: 150,
        detail: "1,000,000 entries after 2,000,000 sets, the ghost included"),
    ]
  }

  private func residentBytes() -> Int {
    guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return 0 }
    return (Int(text.split(separator: " ")[1]) ?? 0) * Int(getpagesize())
  }
}
