import Foundation
import Reporting

/// Encodes and decodes values, compared with Foundation's coders.
///
/// Every coder is called as documented, and reused where it may be. The keyed archivers get the same values as objects.
enum ArchiveWorkloads {
  static func all(_ setting: Setting) -> [Workload] {
    var random = SplitMix(state: 14)
    let profiles = (0..<1000).map { Profile(id: $0) }
    return values("Int", 1_234_567, setting, rounds: 2000) { NSNumber(value: $0) }
      + values("String of 20 bytes", "exactly twenty bytes", setting, rounds: 2000) { NSString(string: $0) }
      + values("Data of 4 KB", Data(random.bytes(4096)), setting, rounds: 500) { NSData(data: $0) }
      + values("struct of 5 fields", profiles[7], setting, rounds: 500) { ProfileObject($0) }
      + values("1,000 structs", profiles, setting, rounds: 1) { NSArray(array: $0.map(ProfileObject.init)) }
      + objects("object of 5 fields", ProfileObject(profiles[7]), setting, rounds: 500)
  }

  // MARK: Codable values

  private static func values<Value: Codable & Equatable & Sendable>(
    _ content: String, _ value: Value, _ setting: Setting, rounds: Int, object: @escaping (Value) -> any NSCoding
  ) -> [Workload] {
    let count = operations(rounds, setting)
    let parameters = Parameters(content: content)
    var coders: [any ValueCoder] = [CBORCoder(), JSONCoder(), PropertyListCoder()]
    if value is Data { coders.append(MemoryCopy()) }
    return [
      Workload("archive.encode", parameters) { _ in
        [encodingAsStored(value, count)] + coders.map { encoding(value, $0, count) }
          + ObjectCoders.all.map { encoding(object(value), $0, count) }
      },
      Workload("archive.decode", parameters) { _ in
        try [decodingAsStored(value, count)] + coders.map { try decoding(value, $0, count) }
          + ObjectCoders.all.map { try decoding(object(value), $0, count) }
      },
    ]
  }

  private static func encoding<Value: Codable & Equatable & Sendable, Coder: ValueCoder>(
    _ value: Value, _ coder: Coder, _ count: Int
  ) -> Trial {
    Trial(coder.name, operations: count) {
      try verify(value, coder)
    } body: {
      var bytes = 0
      for _ in 0..<count { bytes &+= try coder.encode(value).count }
      guard bytes > 0 else { throw WorkloadError("\(coder.name) made empty archives.") }
    }
  }

  private static func decoding<Value: Codable & Equatable & Sendable, Coder: ValueCoder>(
    _ value: Value, _ coder: Coder, _ count: Int
  ) throws -> Trial {
    let archive = try coder.encode(value)
    return Trial(coder.name, operations: count) {
      try verify(value, coder)
    } body: {
      for _ in 0..<count { consume(try coder.decode(Value.self, from: archive)) }
    }
  }

  private static func verify<Value: Codable & Equatable & Sendable>(_ value: Value, _ coder: any ValueCoder) throws {
    guard try coder.decode(Value.self, from: coder.encode(value)) == value else {
      throw WorkloadError("\(coder.name) decodes another value than it encoded.")
    }
  }

  // MARK: Codable values, as the cache stores them

  private static func encodingAsStored<Value: Codable & Equatable>(_ value: Value, _ count: Int) -> Trial {
    let archive = StoredArchive()
    return Trial(StoredArchive.name, operations: count) {
      try verify(value, archive)
    } body: {
      var bytes = 0
      for _ in 0..<count { bytes &+= try archive.encode(value) }
      guard bytes > 0 else { throw WorkloadError("The cache made empty archives.") }
    }
  }

  private static func decodingAsStored<Value: Codable & Equatable>(_ value: Value, _ count: Int) throws -> Trial {
    let archive = StoredArchive()
    _ = try archive.encode(value)
    return Trial(StoredArchive.name, operations: count) {
      try verify(value, archive)
    } body: {
      for _ in 0..<count { consume(try archive.decode(Value.self)) }
    }
  }

  private static func verify<Value: Codable & Equatable>(_ value: Value, _ archive: StoredArchive) throws {
    _ = try archive.encode(value)
    guard try archive.decode(Value.self) == value else {
      throw WorkloadError("The cache decodes another value than it encoded.")
    }
  }

  // MARK: NSCoding objects

  private static func objects(
    _ content: String, _ object: ProfileObject, _ setting: Setting, rounds: Int
  ) -> [Workload] {
    let count = operations(rounds, setting)
    let parameters = Parameters(content: content)
    return [
      Workload("archive.encode", parameters) { _ in ObjectCoders.all.map { encoding(object, $0, count) } },
      Workload("archive.decode", parameters) { _ in try ObjectCoders.all.map { try decoding(object, $0, count) } },
    ]
  }

  private static func encoding<Coder: ObjectCoder>(_ object: any NSCoding, _ coder: Coder, _ count: Int) -> Trial {
    let count = max(1, count / coder.slowness)
    return Trial(coder.name, operations: count) {
      try verify(object, coder)
    } body: {
      var bytes = 0
      for _ in 0..<count { bytes &+= try coder.encode(object).count }
      guard bytes > 0 else { throw WorkloadError("\(coder.name) made empty archives.") }
    }
  }

  private static func decoding<Coder: ObjectCoder>(
    _ object: any NSCoding, _ coder: Coder, _ count: Int
  ) throws -> Trial {
    let archive = try coder.encode(object)
    let count = max(1, count / coder.slowness)
    return Trial(coder.name, operations: count) {
      try verify(object, coder)
    } body: {
      for _ in 0..<count { consume(try coder.decode(from: archive)) }
    }
  }

  private static func verify(_ object: any NSCoding, _ coder: any ObjectCoder) throws {
    let decoded = try coder.decode(from: coder.encode(object))
    guard isSame(decoded, object) else {
      throw WorkloadError("\(coder.name) decodes \(decoded), and was given \(object).")
    }
  }

  /// On Linux, unarchivers may return Swift values for some of Foundation's classes.
  private static func isSame(_ decoded: Any, _ object: any NSCoding) -> Bool {
    switch (decoded, object) {
    case (let decoded as String, let object as NSString): NSString(string: decoded).isEqual(object)
    case (let decoded as Data, let object as NSData): decoded == Data(referencing: object)
    case (let decoded as [ProfileObject], let object as NSArray): NSArray(array: decoded).isEqual(to: Array(object))
    case (let decoded as NSObject, let object as NSObject): decoded.isEqual(object)
    case (let decoded as Int, let object as NSNumber): decoded == object.intValue
    default: false
    }
  }

  // MARK: Parts

  private static func operations(_ rounds: Int, _ setting: Setting) -> Int {
    setting.pick(check: max(1, rounds / 100), quick: rounds, full: rounds * 5)
  }
}
