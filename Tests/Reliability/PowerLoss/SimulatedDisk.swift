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
  /// By inode number.
  private var nodes: [UInt64: any SimulatedNode] = [:]
  private var changesOfNames = 0

  /// - Parameter rootPath: Its present contents are durable.
  init(_ rootPath: String) throws {
    self.rootPath = rootPath
    try add(rootPath, to: root)
  }

  private func add(_ path: String, to directory: SimulatedDirectory) throws {
    nodes[try Self.number(path)] = directory
    for name in try FileManager.default.contentsOfDirectory(atPath: path) {
      let child = path + "/" + name
      let attributes = try FileManager.default.attributesOfItem(atPath: child)
      if attributes[.type] as? FileAttributeType == .typeDirectory {
        let new = SimulatedDirectory()
        try add(child, to: new)
        directory.change(0, adding: (name, new))
      } else {
        let file = SimulatedFile([UInt8](try Data(contentsOf: URL(fileURLWithPath: child))))
        nodes[try Self.number(child)] = file
        directory.change(0, adding: (name, file))
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
    let (node, end) = (nodes[record.file], record.offset + record.length)
    let file = node as? SimulatedFile
    switch record.operation {
    case WRITE_LOG_CREATE: make(SimulatedFile(), record)
    case WRITE_LOG_MAKE_DIRECTORY: make(SimulatedDirectory(), record)
    case WRITE_LOG_WRITE, WRITE_LOG_MAPPED:
      file?.pending.append(.write(record.offset, record.bytes, isSynchronous: record.isSynchronous))
    case WRITE_LOG_RESIZE: file?.pending.append(.resize(record.length))
    case WRITE_LOG_EXTEND: file?.pending.append(.extend(record.length))
    case WRITE_LOG_HOLE: file?.pending.append(.hole(record.offset..<end))
    case WRITE_LOG_SYNC: node?.synchronize()
    case WRITE_LOG_SYNC_ALL: for node in nodes.values { node.synchronize() }
    case WRITE_LOG_RENAME: move(from: record.path, to: record.newPath)
    case WRITE_LOG_LINK: move(node, to: record.newPath)
    case WRITE_LOG_UNLINK, WRITE_LOG_REMOVE_DIRECTORY: move(from: record.path)
    // A mark, or a reservation: the disk has unlimited blocks.
    default: break
    }
  }

  private func make(_ node: any SimulatedNode, _ record: WriteLogRecord) {
    nodes[record.file] = node
    move(node, to: record.path)
  }

  /// - Parameter node: nil means the one at `from`.
  private func move(_ node: (any SimulatedNode)? = nil, from: String? = nil, to: String? = nil) {
    let (old, new) = (from.flatMap(place), to.flatMap(place))
    guard let node = node ?? old.flatMap({ $0.directory.current[$0.name] }) else { return }
    changesOfNames += 1
    if let old, let new, old.directory === new.directory {
      return old.directory.change(changesOfNames, removing: old.name, adding: (new.name, node))
    }
    if let new { new.directory.change(changesOfNames, adding: (new.name, node)) }
    if let old { old.directory.change(changesOfNames, removing: old.name) }
  }

  private func place(_ path: String) -> (directory: SimulatedDirectory, name: String)? {
    guard path.hasPrefix(rootPath + "/") else { return nil }
    let names = path.dropFirst(rootPath.count + 1).split(separator: "/").map(String.init)
    var directory = root
    for name in names.dropLast() {
      guard let next = directory.current[name] as? SimulatedDirectory else { return nil }
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
    for (name, node) in entries.sorted(by: { $0.key < $1.key }) {
      if let child = node as? SimulatedDirectory { try write(child, to: path + "/" + name, percent, cut, &random) }
      guard let file = node as? SimulatedFile else { continue }
      var contents = file.afterPowerCut(keeping: percent, &random)
      // Written through a memory map, and never trusted after a boot.
      if name == "lock.mdb", random.below(2) == 0 { contents = random.bytes(contents.count) }
      try Data(contents).write(to: URL(fileURLWithPath: path + "/" + name))
    }
  }
}

/// A file or a directory of a simulated disk: a durable state, and changes that a power cut may keep or lose.
private protocol SimulatedNode: AnyObject {
  func synchronize()
}

private final class SimulatedDirectory: SimulatedNode {
  private struct Change {
    /// Its position among all name changes of the disk.
    let number: Int
    /// A rename has both.
    var removed: (name: String, node: any SimulatedNode)?
    var added: (name: String, node: any SimulatedNode)?
  }

  private var durable: [String: any SimulatedNode] = [:]
  private var pending: [Change] = []
  private(set) var current: [String: any SimulatedNode] = [:]

  func change(
    _ number: Int, removing removed: String? = nil, adding added: (name: String, node: any SimulatedNode)? = nil
  ) {
    var change = Change(number: number, added: added)
    if let removed, let node = current.removeValue(forKey: removed) { change.removed = (removed, node) }
    if let added { current[added.name] = added.node }
    pending.append(change)
  }

  func synchronize() {
    for change in pending { Self.apply(change, to: &durable) }
    pending = []
  }

  /// The names after a power cut.
  ///
  /// - Parameter cut: The first lost change, for a file system that keeps name changes in order (ext4, XFS, Btrfs). If
  ///   nil, each change survives independently.
  func afterPowerCut(keeping percent: Int, cut: Int?, _ random: inout SeededRandom) -> [String: any SimulatedNode] {
    var entries = durable
    for change in pending where cut.map({ change.number < $0 }) ?? (random.below(100) < percent) {
      Self.apply(change, to: &entries)
    }
    return entries
  }

  private static func apply(_ change: Change, to entries: inout [String: any SimulatedNode]) {
    if let (name, node) = change.removed, entries[name] === node { entries[name] = nil }
    if let added = change.added { entries[added.name] = added.node }
  }
}

private final class SimulatedFile: SimulatedNode {
  enum Change {
    case write(Int, [UInt8], isSynchronous: Bool)
    case resize(Int)
    case extend(Int)
    /// Zeros, as far as the file goes.
    case hole(Range<Int>)

    /// The size of the file after it.
    func size(after size: Int) -> Int {
      switch self {
      case .write(let offset, let bytes, _): max(size, offset + bytes.count)
      case .resize(let new): new
      case .extend(let new): max(size, new)
      case .hole: size
      }
    }

    /// Changes the bytes within `range`.
    func apply(to contents: inout [UInt8], within range: Range<Int>) {
      switch self {
      case .write(let offset, let bytes, _):
        let part = range.clamped(to: offset..<offset + bytes.count)
        if part.isEmpty { return }
        contents.resize(to: max(contents.count, part.upperBound))
        contents.withUnsafeMutableBytes { contents in
          bytes.withUnsafeBytes {
            let source = $0[part.lowerBound - offset..<part.upperBound - offset]
            contents[part].copyBytes(from: UnsafeRawBufferPointer(rebasing: source))
          }
        }
      case .resize(let size): contents.clear(range.clamped(to: size..<max(size, contents.count)))
      case .extend: break
      case .hole(let hole): contents.clear(range.clamped(to: hole))
      }
    }
  }

  private static let pageSize = 4096
  private static let sectorSize = 512

  private var durable: [UInt8]
  var pending: [Change] = []

  init(_ contents: [UInt8] = []) { durable = contents }

  func synchronize() {
    for change in pending {
      change.apply(to: &durable, within: 0..<Int.max)
      durable.resize(to: change.size(after: durable.count))
    }
    pending = []
  }

  /// The bytes after a power cut: every unsynchronized page has a prefix of its writes, independently of other pages;
  /// sometimes every sector does.
  ///
  /// - Parameter percent: The probability that a change survives.
  func afterPowerCut(keeping percent: Int, _ random: inout SeededRandom) -> [UInt8] {
    var (contents, size) = (durable, durable.count)
    // A page on the disk holds all writes up to some moment, as the page cache does.
    var pages: [Int: (changes: [Change], least: Int)] = [:]
    for change in pending {
      var isSynchronous = false
      if case .write(_, _, true) = change { isSynchronous = true }
      if isSynchronous || random.below(100) < percent { size = change.size(after: size) }
      for page in self.pages(of: change) {
        pages[page, default: ([], 0)].changes.append(change)
        if isSynchronous { pages[page]!.least = pages[page]!.changes.count }
      }
    }
    for (page, found) in pages.sorted(by: { $0.key < $1.key }) {
      let unit = random.below(8) == 0 ? Self.sectorSize : Self.pageSize
      for start in stride(from: page * Self.pageSize, to: (page + 1) * Self.pageSize, by: unit) {
        let kept =
          random.below(4) == 0
          ? found.least + random.below(found.changes.count - found.least + 1)
          : random.below(100) < percent ? found.changes.count : found.least
        for change in found.changes.prefix(kept) { change.apply(to: &contents, within: start..<start + unit) }
      }
    }
    contents.resize(to: size)
    return contents
  }

  private func pages(of change: Change) -> ClosedRange<Int> {
    let (first, last) =
      switch change {
      case .write(let offset, let bytes, _): (offset, offset + bytes.count - 1)
      case .resize(let size): (size, durable.count)
      case .extend(let size): (max(0, size - 1), size - 1)
      case .hole(let range): (range.lowerBound, range.upperBound - 1)
      }
    return first / Self.pageSize...max(first, last) / Self.pageSize
  }
}

extension [UInt8] {
  fileprivate mutating func resize(to size: Int) {
    if count > size { removeSubrange(size...) }
    if count < size { self += [UInt8](repeating: 0, count: size - count) }
  }

  fileprivate mutating func clear(_ range: Range<Int>) {
    for position in range.clamped(to: 0..<count) { self[position] = 0 }
  }
}

/// One record of a log of writes; see `WriteLog.h`.
struct WriteLogRecord {
  let operation: write_log_operation
  /// The file's inode number.
  let file: UInt64
  let offset: Int
  let length: Int
  /// Whether the bytes were durable when the write returned.
  let isSynchronous: Bool
  let path: String
  let bytes: [UInt8]

  var newPath: String { String(decoding: bytes, as: UTF8.self) }

  /// Whether it orders other records: a synchronization, a name change, a hole.
  var isEdge: Bool {
    isSynchronous
      || [WRITE_LOG_SYNC, WRITE_LOG_RENAME, WRITE_LOG_UNLINK, WRITE_LOG_LINK, WRITE_LOG_CREATE, WRITE_LOG_HOLE]
        .contains(operation)
  }

  static func read(_ path: String) throws -> [WriteLogRecord] {
    try Data(contentsOf: URL(fileURLWithPath: path)).withUnsafeBytes { log in
      var records: [WriteLogRecord] = []
      var position = 0
      // A killed writer may have left a partial last record.
      while position + 64 <= log.count {
        let words = (0..<8).map {
          UInt64(littleEndian: log.loadUnaligned(fromByteOffset: position + 8 * $0, as: UInt64.self))
        }
        let path = position + 64..<position + 64 + Int(words[5])
        position = path.upperBound + Int(words[6])
        guard position <= log.count else { break }
        records.append(
          WriteLogRecord(
            operation: write_log_operation(rawValue: UInt32(words[0])), file: words[1], offset: Int(words[2]),
            length: Int(words[3]), isSynchronous: words[4] == 1, path: String(decoding: log[path], as: UTF8.self),
            bytes: Array(log[path.upperBound..<position])))
      }
      return records
    }
  }
}
