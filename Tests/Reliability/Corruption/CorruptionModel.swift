import Foundation
import LMDBCaching
import TestSupport

/// A sound cache, and how to make a damaged copy of it.
struct CorruptionModel {
  static let metaPages = "\(DatabaseImage.PageKind.meta) pages"

  let shape: CorruptionShape
  private let directory: URL
  private let image: DatabaseImage
  private let earlier: DatabaseImage
  private let values: LogCorruption.Files
  private let journals: LogCorruption.Files
  /// Every file except the database, relative to the directory.
  private let others: [String]

  init(_ shape: CorruptionShape, in work: URL, foreign: URL) throws {
    self.shape = shape
    directory = work.appendingPathComponent(shape.rawValue)
    let old = work.appendingPathComponent(shape.rawValue + "-earlier")
    try shape.make(in: directory, earlier: old)
    image = try DatabaseImage(directory.appendingPathComponent("data.mdb"))
    earlier = try DatabaseImage(old)
    values = LogCorruption.Files(
      own: try Self.files("values", in: directory), others: try Self.files("values", in: foreign))
    journals = LogCorruption.Files(own: try Self.files("journals", in: directory), others: [:])
    others = try FileManager.default.contentsOfDirectory(atPath: directory.path)
      .filter { $0 != "data.mdb" && $0 != "lock.mdb" }
    if shape == .journal, values.own.isEmpty || journals.own.isEmpty { throw POSIXError(.ENOENT) }
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
      let corruption = Corruption.allCases.randomElement(using: &random)!
      let (kind, text) = corruption.apply(to: &bytes, of: image, earlier: earlier, &random)
      done = (corruption.rawValue, "\(kind) pages", text)
    case .values: done = try damage(values, LogCorruption.allCases, target, in: copy, &random)
    case .journals: done = try damage(journals, LogCorruption.ofJournals, target, in: copy, &random)
    }
    try Data(bytes).write(to: copy.appendingPathComponent("data.mdb"))
    // As if the medium had done it: the clean-exit mark matches the damaged file.
    if circumstance == .silent || circumstance == .trusted { try TestingMark.write(in: copy.path) }
    return done
  }

  private func damage(
    _ files: LogCorruption.Files, _ ways: [LogCorruption], _ target: CorruptionShape.Target, in copy: URL,
    _ random: inout SeededRandom
  ) throws -> (name: String, place: String, text: String) {
    var files = files
    let way = ways.randomElement(using: &random)!
    let text = way.apply(to: &files, &random)
    let folder = copy.appendingPathComponent(target.rawValue)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    for (name, bytes) in files.own { try Data(bytes).write(to: folder.appendingPathComponent(name)) }
    return (way.rawValue, target.rawValue, text)
  }
}
