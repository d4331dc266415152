import Foundation
import LMDBCaching
import Logging
import TestSupport

/// A kind of database to damage: built once, copied for every round.
enum CorruptionShape: String, CaseIterable {
  case small, deep, large, longKeys, valueLog, freePages
  /// Leaves uncommitted writes in a dead process's journal and in the value log.
  case journal

  static let inlineThreshold = 60_000

  private var keyCount: Int {
    switch self {
    case .small: 12
    case .deep: 1_500
    case .large: 60
    case .longKeys: 250
    case .valueLog: 30
    case .freePages: 300
    case .journal: 60
    }
  }

  var keys: [String] {
    (0..<keyCount).map { number in
      switch self {
      case .deep: "key \(number)" + String(repeating: "-", count: 200)
      // Some are longer than an LMDB key.
      case .longKeys: "\(number)" + String(repeating: "k", count: number % 2 == 0 ? 500 : 900)
      default: "key \(number)"
      }
    }
  }

  private func valueSize(_ key: String) -> Int {
    switch self {
    case .small, .longKeys: 60
    case .deep: 20
    case .large: 20_000
    case .valueLog: 70_000
    case .freePages: 900
    case .journal: key.hasSuffix("5") ? 70_000 : 500
    }
  }

  func value(_ key: String, _ version: Int) -> Data {
    var random = SeededRandom(UInt64(version) &* 0x9E37 &+ key.utf8.reduce(0) { $0 &* 31 &+ UInt64($1) })
    let word = random.next()
    let size = valueSize(key) + Int(word % 64)
    var data = Data("\(version) \(word) \(key.prefix(40)) ".utf8)
    while data.count < size { withUnsafeBytes(of: random.next()) { data.append(contentsOf: $0) } }
    return data.prefix(size)
  }

  /// The last version of each key. Older ones remain in free pages and earlier images.
  static let lastVersion = 3

  static func configuration(_ verification: CacheVerification) -> CacheConfiguration {
    var configuration = CacheConfiguration()
    configuration.disk.mapSize = 256 << 20
    configuration.disk.journalSize = 1 << 16
    configuration.disk.inlineThreshold = inlineThreshold
    configuration.disk.verification = verification
    configuration.logger = Logger(label: "soak", factory: { _ in SwiftLogNoOpLogHandler() })
    return configuration
  }

  /// In the `journal` shape, this many of the last keys are written as one batch.
  static let batchLength = 4

  enum Target: String, CaseIterable { case database, values, journals }

  var targets: [Target] {
    switch self {
    case .valueLog: [.database, .values, .values]
    case .journal: [.values, .journals]
    default: [.database]
    }
  }

  /// Builds it in `directory`, with an image of its database before the last writes in `earlier`.
  func make(in directory: URL, earlier: URL) throws {
    let keys = keys
    for version in 1...(self == .journal ? Self.lastVersion - 1 : Self.lastVersion) {
      let cache = try LMDBCache(directory: directory, configuration: Self.configuration(.afterUncleanExit))
      for part in stride(from: 0, to: keys.count, by: 40) {
        try cache.write { batch in
          for key in keys[part..<min(part + 40, keys.count)] { batch.set(value(key, version), forKey: key) }
        }
      }
      if self == .freePages {
        for number in 0..<800 { try cache.set(Data(count: 3_000), forKey: "other \(number)") }
        try cache.flush()
        try cache.removeAll(.prefix("other"))
      }
      try cache.close()
      if version == Self.lastVersion - 1 {
        try FileManager.default.copyItem(at: directory.appendingPathComponent("data.mdb"), to: earlier)
      }
    }
    if self == .journal { try leaveJournal(in: directory) }
  }

  /// Writes the last version of every key, and copies the files as a process leaves them that dies before its commit.
  private func leaveJournal(in directory: URL) throws {
    let live = directory.appendingPathExtension("live")
    try FileManager.default.moveItem(at: directory, to: live)
    let cache = try LMDBCache(directory: live, configuration: Self.configuration(.afterUncleanExit))
    let (held, written, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchGroup())
    let failure = Guarded<(any Error)?>(nil)
    inBackground(ended) {
      do {
        try cache.betweenCommits {
          held.signal()
          written.wait()
          return Result { try Self.copy(live, to: directory) }
        }.get()
      } catch {
        failure { $0 = error }
      }
    }
    held.wait()
    for key in keys.dropLast(Self.batchLength) { try cache.set(value(key, Self.lastVersion), forKey: key) }
    try cache.write { batch in
      for key in keys.suffix(Self.batchLength) { batch.set(value(key, Self.lastVersion), forKey: key) }
    }
    written.signal()
    ended.wait()
    if let error = failure.current { throw error }
    try cache.close()
    try FileManager.default.removeItem(at: live)
  }

  private static func copy(_ live: URL, to directory: URL) throws {
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
    for name in try FileManager.default.contentsOfDirectory(atPath: live.path) where name != "lock.mdb" {
      try FileManager.default.copyItem(
        at: live.appendingPathComponent(name), to: directory.appendingPathComponent(name))
    }
  }
}

/// A sound cache, and how to make a damaged copy of it.
struct CorruptionModel {
  let shape: CorruptionShape
  private let directory: URL
  private let image: DatabaseImage
  private let earlier: DatabaseImage
  private let values: [String: [UInt8]]
  private let journals: [String: [UInt8]]
  /// Segments of another cache.
  private let foreign: [String: [UInt8]]
  /// Every file except the database, relative to the directory.
  private let others: [String]

  init(_ shape: CorruptionShape, in work: URL, foreign: URL) throws {
    self.shape = shape
    directory = work.appendingPathComponent(shape.rawValue)
    let old = work.appendingPathComponent(shape.rawValue + "-earlier")
    try shape.make(in: directory, earlier: old)
    image = try DatabaseImage(directory.appendingPathComponent("data.mdb"))
    earlier = try DatabaseImage(old)
    values = try Self.files("values", in: directory)
    journals = try Self.files("journals", in: directory)
    self.foreign = try Self.files("values", in: foreign)
    others = try FileManager.default.contentsOfDirectory(atPath: directory.path)
      .filter { $0 != "data.mdb" && $0 != "lock.mdb" }
    if shape == .journal, values.isEmpty || journals.isEmpty { throw POSIXError(.ENOENT) }
  }

  private static func files(_ folder: String, in directory: URL) throws -> [String: [UInt8]] {
    let folder = directory.appendingPathComponent(folder)
    guard FileManager.default.fileExists(atPath: folder.path) else { return [:] }
    var files: [String: [UInt8]] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
      files[name] = [UInt8](try Data(contentsOf: folder.appendingPathComponent(name)))
    }
    return files
  }

  func damage(
    _ target: CorruptionShape.Target, in copy: URL, _ circumstance: CorruptionTrial.Circumstance,
    _ random: inout SeededRandom
  ) throws -> (name: String, place: String, text: String) {
    let files = FileManager.default
    if files.fileExists(atPath: copy.path) { try files.removeItem(at: copy) }
    try files.createDirectory(at: copy, withIntermediateDirectories: false)
    for name in others where name != "clean-exit" || circumstance != .unclean {
      if name == target.rawValue { continue }
      try files.copyItem(at: directory.appendingPathComponent(name), to: copy.appendingPathComponent(name))
    }
    var bytes = image.bytes
    let done: (name: String, place: String, text: String)
    switch target {
    case .database:
      let corruption = Corruption.ofDatabases.randomElement(using: &random)!
      let (kind, text) = corruption.apply(to: &bytes, of: image, earlier: earlier, &random)
      done = (corruption.rawValue, "\(kind) pages", text)
    case .values: done = try damage(values, Corruption.ofValues, target, in: copy, &random)
    case .journals: done = try damage(journals, Corruption.ofJournals, target, in: copy, &random)
    }
    try Data(bytes).write(to: copy.appendingPathComponent("data.mdb"))
    // As if the medium had done it: the clean-exit mark matches the damaged file.
    if circumstance == .silent { try TestingMark.write(in: copy.path) }
    return done
  }

  private func damage(
    _ files: [String: [UInt8]], _ ways: [Corruption], _ target: CorruptionShape.Target, in copy: URL,
    _ random: inout SeededRandom
  ) throws -> (name: String, place: String, text: String) {
    var files = files
    let way = ways.randomElement(using: &random)!
    let text = way.apply(to: &files, foreign: foreign, &random)
    let folder = copy.appendingPathComponent(target.rawValue)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    for (name, bytes) in files { try Data(bytes).write(to: folder.appendingPathComponent(name)) }
    return (way.rawValue, target.rawValue, text)
  }
}
