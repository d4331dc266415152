import Foundation
import LMDBCaching

extension CacheFixture {
  package static let values = committed + waiting

  static let committed = all(in: "committed") + [FixtureValue("", "of the empty key")]

  /// Left by a killed process in its journal.
  package static let waiting = all(in: "waiting") + [FixtureValue("early:overwritten", "new")]

  private static func all(in place: String) -> [FixtureValue] {
    [scalars, others, long, withProperties, results, loads].flatMap { values in values(place) }
  }

  private static func scalars(_ place: String) -> [FixtureValue] {
    [
      FixtureValue("\(place):string", "short – kurz, 短い"),
      FixtureValue("\(place):empty string", ""),
      FixtureValue("\(place):bool", true),
      FixtureValue("\(place):integer", -1_234_567_890_123),
      FixtureValue("\(place):unsigned", UInt64.max),
      FixtureValue("\(place):double", Double.pi),
      FixtureValue("\(place):float", Float(0.1)),
      FixtureValue("\(place):date", Date(timeIntervalSince1970: 1_000_000_000.25)),
      FixtureValue("\(place):uuid", UUID(uuid: (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))),
      FixtureValue("\(place):url", URL(string: "https://example.com/a?b=c#d")!),
      FixtureValue("\(place):data", Data([0, 1, 127, 128, 255])),
    ]
  }

  private static func others(_ place: String) -> [FixtureValue] {
    let object = FixtureObject(title: "an object of \(place)", count: -7)
    let integers: [Int32] = [0, .min, .max]
    let doubles: [Double] = [0, -1.5, .infinity]
    let decimal = Decimal(string: "12345.678901") ?? 0
    return [
      FixtureValue("\(place):integers", integers),
      FixtureValue("\(place):doubles", doubles),
      FixtureValue("\(place):strings", ["a", "", "é"]),
      FixtureValue("\(place):dictionary", ["one": 1, "two": 2]),
      FixtureValue("\(place):decimal", decimal),
      FixtureValue("\(place):person", FixturePerson.ann),
      FixtureValue("\(place):object", object, .cbor),
      FixtureValue("\(place):archive", object, .keyedArchive),
    ]
  }

  /// Values in the value log, and keys at and beyond LMDB's limit.
  private static func long(_ place: String) -> [FixtureValue] {
    let data = Data((0..<5_000).map { (number: Int) -> UInt8 in UInt8(truncatingIfNeeded: number &* 31) })
    let head = "\(place):key:"
    return [
      FixtureValue("\(place):long data", data),
      FixtureValue("\(place):long string", String(repeating: "lang ", count: 4_000)),
      FixtureValue("\(place):long person", [FixturePerson](repeating: .ann, count: 100)),
      FixtureValue(head + String(repeating: "k", count: 511 - head.utf8.count), "of 511 bytes"),
      FixtureValue(head + String(repeating: "é", count: 600), "over 511 bytes"),
      FixtureValue(head + String(repeating: "é", count: 600) + "!", data),
    ]
  }

  private static func withProperties(_ place: String) -> [FixtureValue] {
    [
      FixtureValue("\(place):far", "expires in 2100", expiration: farDate),
      FixtureValue("\(place):dear", "costs", cost: 12_345),
      FixtureValue("\(place):dearest", "costs much", cost: 1 << 28),
      FixtureValue("\(place):tagged", "by two tags", tags: ["\(place):red", "shared"]),
      FixtureValue("\(place):tagged too", "by two others", tags: ["\(place):blue", "shared"]),
      FixtureValue(
        "\(place):all", Data(count: 3_000), expiration: farDate, cost: 99, tags: ["\(place):blue", "\(place):green"]),
    ]
  }

  private static func results(_ place: String) -> [FixtureValue] {
    let (first, second) = ("\(place):first of a batch", "\(place):second of a batch")
    let (touched, sliding, counter) = ("\(place):touched", "\(place):sliding", "\(place):counter")
    let (updated, absent, exchanged) = ("\(place):updated", "\(place):was absent", "\(place):exchanged")
    return [
      FixtureValue(first, 1) { cache in
        try cache.write { batch in
          batch.set(1, forKey: first)
          batch.set("two", forKey: second)
        }
      },
      FixtureValue(second, "two") { _ in },
      FixtureValue(touched, "lives on", expiration: farDate) { cache in
        try cache.set("lives on", forKey: touched, expires: .after(.seconds(60)))
        try cache.touch(forKey: touched, expires: .at(farDate))
      },
      FixtureValue(sliding, "was read", expiration: date.addingTimeInterval(TimeInterval(lifetime))) { cache in
        try cache.set("was read", forKey: sliding, expires: .after(.seconds(60)))
        _ = try cache.value(String.self, forKey: sliding, expires: .sliding(.seconds(lifetime)))
      },
      FixtureValue(counter, 42) { cache in
        for amount in [1, 2, 39] { try cache.increment(forKey: counter, by: amount) }
      },
      FixtureValue(updated, [1, 2]) { cache in
        try cache.set([1], forKey: updated)
        try cache.update([Int].self, forKey: updated) { $0?.append(2) }
      },
      FixtureValue(absent, "first") { cache in
        try cache.set("first", forKey: absent, if: .absent)
        try cache.set("second", forKey: absent, if: .absent)
      },
      FixtureValue(exchanged, "new") { cache in
        try cache.set("old", forKey: exchanged)
        try cache.exchange("new", forKey: exchanged)
      },
    ]
  }

  // MARK: Loads

  /// In seconds: how long loaded values are fresh, and then kept. At half the first time they are reloaded.
  package static let lifetime = 100 * 86_400
  package static let keptFor = 10 * 86_400

  package static let loadedKeys = places.map { "\($0):loaded" }

  private static func loads(_ place: String) -> [FixtureValue] {
    let key = "\(place):loaded"
    let expiration = date.addingTimeInterval(TimeInterval(lifetime))
    return [
      FixtureValue(key, "loaded", expiration: expiration, cost: 5, tags: ["\(place):loaded"]) { cache in
        var options = LoadOptions(lifetime: .seconds(lifetime))
        options.refreshAhead = 0.5
        options.staleWhileRevalidate = .seconds(keptFor)
        options.cost = 5
        options.tags = ["\(place):loaded"]
        _ = try cache.value(String.self, forKey: key, options: options) { _ in "loaded" }
      }
    ]
  }
}
