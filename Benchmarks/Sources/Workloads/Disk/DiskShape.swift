import Foundation
import Reporting

/// The number and the size of values.
struct DiskShape {
  let size: Int
  let count: Int

  var parameters: Parameters { Parameters(keys: count, valueSize: size) }

  var value: Data { value(seed: 6) }

  /// Replaces ``value``. SQLite would not write identical bytes.
  var replacement: Data { value(seed: 16) }

  private func value(seed: UInt64) -> Data {
    var random = SplitMix(state: seed)
    return Data(random.bytes(size))
  }

  /// Every key once, in random order.
  func keys(seed: UInt64) -> KeyList {
    var random = SplitMix(state: seed)
    return KeyList(numbers: (0..<count).shuffled(using: &random))
  }

  /// As many missing keys, which sort between those of ``keys(seed:)``.
  var missingKeys: KeyList {
    var random = SplitMix(state: 7)
    return KeyList(numbers: (count..<(2 * count)).shuffled(using: &random))
  }

  /// Has fewer keys if the store is too slow to be filled in every round.
  func refilled(by kind: DiskSubjectKind) -> DiskShape { DiskShape(size: size, count: min(count, kind.mostFilled)) }

  /// How many keys the store writes one by one in a round.
  func writes(by kind: DiskSubjectKind) -> Int { size < 1000 ? min(count, kind.mostWrites) : count }

  func filled(_ kind: DiskSubjectKind, in directory: URL) throws -> any DiskSubject {
    let subject = try kind.open(directory, size)
    let keys = keys(seed: 8)
    // In one run sorted by key, so that every store is as well ordered as it can be.
    try subject.set(keys.sorted(inRunsOf: keys.count), value, inBatchesOf: 1000)
    try subject.settle()
    return subject
  }
}
