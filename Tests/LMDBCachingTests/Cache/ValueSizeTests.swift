import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct ValueSizeTests {
  let directory = CacheDirectory()

  static let threshold = 20_480

  static func data(_ size: Int, _ seed: Int = 0) -> Data {
    var random = SeededRandom(UInt64(size &* 31 &+ seed))
    let block = random.bytes(min(size, 4_096))
    var data = Data(capacity: size)
    while data.count < size { data.append(contentsOf: block.prefix(size - data.count)) }
    return data
  }

  @Test func onlyValuesOverTheThresholdAreInTheLog() throws {
    let cache = try directory.open { $0.disk.inlineThreshold = Self.threshold }
    try cache.set(Self.data(Self.threshold), forKey: "at")
    #expect(directory.segments.isEmpty)
    try cache.set(Self.data(Self.threshold + 1), forKey: "over")
    #expect(directory.segments.count == 1)
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
}
