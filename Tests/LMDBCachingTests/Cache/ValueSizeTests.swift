import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct ValueSizeTests {
  let directory = CacheDirectory()

  static let threshold = 20_480
  static let segment = (64 << 10) / 2
  static let sizes: [Int] = {
    var sizes = [0, 1, 2, 7, 8, 9, 15, 16, 17, 960, 1_023, 1_024, 1_025]
    for size in [4_080, 4_096, 8_192, threshold, 2 * threshold] {
      sizes += [size - 57, size - 56, size - 1, size, size + 1]
    }
    for size in [segment, 2 * segment, 64 << 10] { sizes += [size - 200, size - 96, size - 1, size, size + 1] }
    return Array(Set(sizes)).sorted()
  }()

  static func data(_ size: Int, _ seed: Int = 0) -> Data {
    var random = SeededRandom(UInt64(size &* 31 &+ seed))
    let block = random.bytes(min(size, 4_096))
    var data = Data(capacity: size)
    while data.count < size { data.append(contentsOf: block.prefix(size - data.count)) }
    return data
  }

  enum Storage: CaseIterable, Sendable {
    case valueLog
    /// Values larger than the journal go directly to the database.
    case inline

    func configure(_ configuration: inout CacheConfiguration) {
      neverCommitting(&configuration)
      configuration.disk.journalSize = 64 << 10
      configuration.disk.inlineThreshold = self == .valueLog ? threshold : 1 << 30
    }
  }

  @Test(arguments: Storage.allCases, Place.allCases)
  func everySizeComesBack(_ storage: Storage, _ place: Place) throws {
    let cache = try directory.open(storage.configure)
    for size in Self.sizes {
      let data = Self.data(size)
      try cache.set(data, forKey: "data")
      try cache.set(String(repeating: "x", count: size), forKey: "string")
      try place.settle(cache)
      #expect(try cache.value(Data.self, forKey: "data") == data, "\(size)")
      #expect(try cache.value(String.self, forKey: "string")?.utf8.count == size)
      #expect(try cache.withoutMemory.value(Data.self, forKey: "data") == data, "\(size)")
      #expect(try cache.withBytes(forKey: "data") { $0.withUnsafeBytes { Data($0) } } == data, "\(size)")
    }
    #expect(try cache.count == 2)
    try cache.close()
    #expect(directory.journals.isEmpty)
  }

  @Test(arguments: Storage.allCases) func everySizeIsThereAfterReopening(_ storage: Storage) throws {
    var cache = try directory.open(storage.configure)
    for size in Self.sizes { try cache.set(Self.data(size), forKey: String(size)) }
    try cache.close()
    cache = try directory.open(storage.configure)
    for size in Self.sizes { #expect(try cache.value(Data.self, forKey: String(size)) == Self.data(size), "\(size)") }
    let entries = try cache.entries()
    #expect(Set(entries.map(\.size)) == Set(Self.sizes))
    #expect(try cache.totalCost == entries.reduce(0) { $0 + $1.cost })
    try cache.close()
  }

  @Test func onlyValuesOverTheThresholdAreInTheLog() throws {
    let cache = try directory.open { $0.disk.inlineThreshold = Self.threshold }
    try cache.set(Self.data(Self.threshold), forKey: "at")
    #expect(directory.segments.isEmpty)
    try cache.set(Self.data(Self.threshold + 1), forKey: "over")
    #expect(directory.segments.count == 1)
    try cache.close()
  }

  @Test(arguments: [true, false]) func aValueThatChangesItsSizeLeavesNothing(_ committing: Bool) throws {
    let cache = try directory.open {
      neverCommitting(&$0); $0.disk.inlineThreshold = 1_000
    }
    var random = SeededRandom(7)
    for round in 0..<200 {
      let size = [0, 10, 999, 1_000, 1_001, 5_000].randomElement(using: &random)!
      try cache.set(Self.data(size, round), forKey: "key")
      if committing, round % 3 == 0 { try cache.flush() }
      cache.memory.removeAll()
      #expect(try cache.value(Data.self, forKey: "key") == Self.data(size, round))
    }
    try cache.set(Self.data(2_000), forKey: "key")
    try cache.flush()
    try cache.sweepValues()
    #expect(directory.segments.count == 1)
    try cache.set(1, forKey: "key")
    try cache.flush()
    try cache.sweepValues()
    #expect(directory.segments.isEmpty)
    #expect(try cache.count == 1)
    try cache.close()
  }

  @Test func removingTakesTheValuesAlong() throws {
    let cache = try directory.open { $0.disk.inlineThreshold = 100 }
    func used() throws -> Int { try cache.store.database.valueUsage().segments.values.reduce(0) { $0 + $1.count } }
    for index in 0..<30 { try cache.set(Self.data(500, index), forKey: "\(index % 3)/\(index)") }
    try cache.flush()
    #expect(try used() == 30)
    try cache.removeAll(.prefix("1/"))
    try cache.removeValue(forKey: "0/0")
    try cache.flush()
    #expect(try used() == 19)
    try cache.trim(to: .count(5))
    #expect(try used() == 5)
    #expect(directory.segments.count == 1)
    try cache.removeAll()
    try cache.flush()
    #expect(try used() == 0)
    try cache.sweepValues()
    #expect(directory.segments.isEmpty)
    try cache.close()
  }

  @Test(arguments: [1 << 20, 64 << 20]) func aLargeValueComesBack(_ size: Int) throws {
    for threshold in [1 << 20, 1 << 30] {
      let directory = CacheDirectory()
      var cache = try directory.open { $0.disk.inlineThreshold = threshold }
      let data = Self.data(size)
      try cache.set(data, forKey: "large")
      cache.memory.removeAll()
      #expect(try cache.value(Data.self, forKey: "large") == data)
      try cache.close()
      cache = try directory.open { $0.disk.inlineThreshold = threshold }
      #expect(try cache.value(Data.self, forKey: "large") == data)
      try cache.close()
    }
  }

  /// Includes the shortest, which `Data` stores inline.
  @Test func shortValuesInTheLogComeBack() throws {
    let cache = try directory.open {
      $0.disk.inlineThreshold = 1
      $0.memory.countLimit = 0
    }
    let values = (2...20).map { length in Data((0..<length).map { UInt8($0 + length) }) }
    for value in values { try cache.set(value, forKey: "\(value.count)") }
    for round in 0..<2 {
      for value in values {
        #expect(try cache.value(Data.self, forKey: "\(value.count)") == value, "round \(round)")
      }
      try cache.flush()
    }
    #expect(directory.segments.count == 1)
    try cache.close()
  }
}
