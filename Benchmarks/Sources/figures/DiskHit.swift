import CReference
import Foundation
import LMDBCaching

/// A hit of the disk tier, 100,000 values of 100 bytes in random order, beside LMDB in C doing renew, get, copy, reset.
struct DiskHit: Figure {
  let name = "disk.get.random"
  private let count = 100_000

  func measure(_ setup: Setup) throws -> [Result] {
    var random = SplitMix(state: 2)
    let keys = (0..<count).map { "user:profile:\($0)" }
    // Made anew in this order, as the reference's are: the keys' own memory is not what is measured.
    let order = keys.shuffled(using: &random).map { String(decoding: Array($0.utf8), as: UTF8.self) }
    let value = Data(repeating: 7, count: 100)

    let cache = try DiskCache(directory: try setup.directory())
    for key in keys.sorted() { try cache.set(value, forKey: key) }
    try cache.flush()
    let reference = try Reference(try setup.directory(), durability: .fast)
    _ = reference.put(keys.sorted(), value, batch: count)

    // The reference copies into a buffer; so does the borrowing read here.
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)
    defer { buffer.deallocate() }
    var own: [Double] = []
    var borrowed: [Double] = []
    var raw: [Double] = []
    for _ in 0..<setup.rounds {
      raw.append(reference.get(order))
      own.append(try nanoseconds(per: count) { for key in order { consume(try cache.value(Data.self, forKey: key)) } })
      borrowed.append(
        try nanoseconds(per: count) {
          for key in order {
            consume(
              try cache.withBytes(forKey: key) { bytes in
                bytes.withUnsafeBytes { buffer.copyMemory(from: $0) }
              })
          }
        })
    }
    try cache.close()
    return [("value as Data", own), ("withBytes", borrowed)].map { label, times in
      Result(
        name: "\(name) 100 B, \(label)", value: times.median / raw.median, unit: "x LMDB in C", goal: 1.5,
        detail: "\(number(times.median)) ns beside \(number(raw.median)) ns")
    }
  }
}
