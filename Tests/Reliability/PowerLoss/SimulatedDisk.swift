import Foundation
import TestSupport
import WriteLog

/// A disk that records writes and synchronizations, and builds possible states after a power cut.
///
/// It assumes that a sector of 512 bytes is written as a whole or not at all, and that synchronized data stays. It does
/// not assume an order of unsynchronized pages, that a file's size and bytes change together, or that a name stays
/// unless its directory was synchronized.
final class SimulatedDisk {
  private let rootPath: String
  private let root = SimulatedDirectory()
  private var files: [UInt64: SimulatedFile] = [:]
  private var directories: [UInt64: SimulatedDirectory] = [:]
  private var changesOfNames = 0

  /// - Parameter rootPath: Its present contents are durable.
  init(_ rootPath: String) throws {
    self.rootPath = rootPath
    try add(rootPath, to: root)
  }

  private func add(_ path: String, to directory: SimulatedDirectory) throws {
    directories[try Self.number(path)] = directory
    for name in try FileManager.default.contentsOfDirectory(atPath: path) {
      let child = path + "/" + name
      let attributes = try FileManager.default.attributesOfItem(atPath: child)
      if attributes[.type] as? FileAttributeType == .typeDirectory {
        let new = SimulatedDirectory()
        try add(child, to: new)
        directory.change(0, adding: (name, .directory(new)))
      } else {
        let file = SimulatedFile(Array(try Data(contentsOf: URL(fileURLWithPath: child))))
        files[try Self.number(child)] = file
        directory.change(0, adding: (name, .file(file)))
      }
    }
    directory.synchronize()
  }

  /// The inode number.
  static func number(_ path: String) throws -> UInt64 {
    let number = try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? NSNumber
    return number?.uint64Value ?? 0
  }

  func apply(_ record: WriteLogRecord) {
    switch record.operation {
    case WRITE_LOG_CREATE:
      let file = SimulatedFile()
      files[record.file] = file
      change(record.path, adding: .file(file))
    case WRITE_LOG_WRITE:
      files[record.file]?.write(record.bytes, at: record.offset, isSynchronous: record.isSynchronous)
    case WRITE_LOG_MAPPED: files[record.file]?.write(record.bytes, at: record.offset)
    case WRITE_LOG_RESIZE: files[record.file]?.resize(to: record.length)
    case WRITE_LOG_EXTEND: files[record.file]?.extend(to: record.length)
    case WRITE_LOG_HOLE: files[record.file]?.punchHole(record.offset..<record.offset + record.length)
    // The disk has unlimited blocks.
    case WRITE_LOG_RESERVE: break
    case WRITE_LOG_SYNC:
      files[record.file]?.synchronize()
      directories[record.file]?.synchronize()
    case WRITE_LOG_SYNC_ALL:
      for file in files.values { file.synchronize() }
      for directory in directories.values { directory.synchronize() }
    case WRITE_LOG_RENAME: rename(record.path, record.newPath)
    case WRITE_LOG_LINK:
      if let file = files[record.file] { change(record.newPath, adding: .file(file)) }
    case WRITE_LOG_UNLINK, WRITE_LOG_REMOVE_DIRECTORY: change(record.path, removing: true)
    case WRITE_LOG_MAKE_DIRECTORY:
      let directory = SimulatedDirectory()
      directories[record.file] = directory
      change(record.path, adding: .directory(directory))
    default: break
    }
  }

  private func change(_ path: String, removing: Bool = false, adding node: SimulatedDirectory.Node? = nil) {
    guard let (directory, name) = place(path) else { return }
    changesOfNames += 1
    directory.change(changesOfNames, removing: removing ? name : nil, adding: node.map { (name, $0) })
  }

  private func rename(_ from: String, _ to: String) {
    guard let (old, oldName) = place(from), let (new, newName) = place(to), let node = old.current[oldName] else {
      return
    }
    changesOfNames += 1
    if old === new {
      old.change(changesOfNames, removing: oldName, adding: (newName, node))
    } else {
      new.change(changesOfNames, adding: (newName, node))
      old.change(changesOfNames, removing: oldName)
    }
  }

  private func place(_ path: String) -> (SimulatedDirectory, String)? {
    guard path.hasPrefix(rootPath + "/") else { return nil }
    let names = path.dropFirst(rootPath.count + 1).split(separator: "/").map(String.init)
    var directory = root
    for name in names.dropLast() {
      guard case .directory(let next)? = directory.current[name] else { return nil }
      directory = next
    }
    return names.last.map { (directory, $0) }
  }

  /// Writes a possible state after a power cut now into the directory `path`, which must not exist.
  func writePowerCut(to path: String, _ random: inout SeededRandom) throws {
    let percent = [0, 20, 50, 80, 100][random.below(5)]
    // Half the time ordered like real file systems, otherwise as POSIX allows.
    let cut = random.below(2) == 0 ? max(0, changesOfNames + 1 - random.below(8)) : nil
    try write(root, to: path, percent, cut, &random)
  }

  private func write(
    _ directory: SimulatedDirectory, to path: String, _ percent: Int, _ cut: Int?, _ random: inout SeededRandom
  ) throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    let entries = directory.afterPowerCut(keeping: percent, cut: cut, &random)
    for name in entries.keys.sorted() {
      switch entries[name]! {
      case .directory(let child): try write(child, to: path + "/" + name, percent, cut, &random)
      case .file(let file):
        var contents = file.afterPowerCut(keeping: percent, &random)
        // Written through a memory map, and never trusted after a boot.
        if name == "lock.mdb", random.below(2) == 0 { contents = random.bytes(contents.count) }
        try Data(contents).write(to: URL(fileURLWithPath: path + "/" + name))
      }
    }
  }
}
