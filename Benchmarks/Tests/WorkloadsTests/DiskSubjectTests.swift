import Foundation
import Testing

@testable import Workloads

/// Every store keeps each key's own value, and keeps it when it is closed and opened again.
@Suite struct DiskSubjectTests {
  private static let kinds: [DiskSubjectKind] =
    [
      .diskCache(), .diskCache("until committed", commits: true), .diskCache("withBytes", reads: .bytes),
      .diskCache("fast", durability: .fast), .cache, .lmdb, .lmdbSynchronized, .sqlite, .files,
    ] + DiskSubjectKind.optional

  private func withDirectory(_ body: (URL) throws -> Void) throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    try body(directory)
    try FileManager.default.removeItem(at: directory)
  }

  @Test(arguments: kinds, [100, 4096]) func keepsWhatItIsGiven(_ kind: DiskSubjectKind, _ size: Int) throws {
    let keys = KeyList((0..<50).map { "key:\($0)" })
    let absent = KeyList(["key:absent"])
    let values = (0..<50).map { number in Data(repeating: UInt8(number), count: size) }
    try withDirectory { directory in
      var subject = try kind.open(directory, size)
      for place in 0..<keys.count { try subject.set(keys.only(place), values[place]) }
      try subject.set(keys.only(3), values[4])
      try subject.get(keys)
      try subject.getMissing(absent)
      try subject.remove(keys.only(5))
      try subject.close()

      subject = try kind.open(directory, size)
      for place in 0..<keys.count {
        let expected = place == 3 ? values[4] : place == 5 ? nil : values[place]
        #expect(try subject.value(keys, at: place) == expected, "\(kind.name), key \(place)")
      }
      #expect(throws: (any Error).self) { try subject.get(absent) }
      #expect(throws: (any Error).self) { try subject.getMissing(keys) }
      try subject.set(keys, values[9], inBatchesOf: 7)
      try subject.verify(keys, have: values[9], kind.name)
      #expect(throws: (any Error).self) { try subject.verify(keys, have: values[8], kind.name) }
      try subject.verifyIdentity(valueSize: size, kind.name)
      try subject.settle()
      try subject.close()
    }
  }
}

extension DiskSubjectKind: CustomTestStringConvertible {
  public var testDescription: String { name }
}
