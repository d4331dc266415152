import LMDB
import Platform

/// Moves a segment's referenced values to this process's active segment in short steps, on the writer thread. A step
/// copies values, syncs them, and changes their records in one transaction. An interruption leaves only unreferenced,
/// uncounted copies.
final class SegmentEmptying {
  /// The maximum number of values, and of their bytes, per step.
  private static let (valuesOfStep, bytesOfStep) = (512, 4 << 20)
  /// Bytes to read at once when an entry is not directly after the last one.
  private static let searchLength = 64 << 10
  /// The maximum number of bytes per step to search for an entry.
  private static let searchOfStep = 16 << 20

  let identifier: UInt64
  private let size: Int
  private let lock: FileLock
  private let log: ValueLog
  private let database: EntryDatabase
  private let journal: Journal
  private var offset = ValueSegment.headerSize

  /// - Parameter lock: From ``ValueFolder/take(_:)``.
  init(
    _ segment: ValueFolder.Found, _ lock: consuming FileLock, _ log: ValueLog, _ database: EntryDatabase,
    _ journal: Journal
  ) {
    identifier = segment.identifier
    size = segment.size
    self.lock = lock
    self.log = log
    self.database = database
    self.journal = journal
  }

  func makeStep() throws(CacheError) -> Bool {
    let found = try calling("Reading \(lock.file.path)") { () throws(SystemError) in try nextValues() }
    try move(try database.referring(found))
    return offset < size
  }

  private func move(_ values: [(key: [UInt8], pointer: ValuePointer)]) throws(CacheError) {
    if values.isEmpty { return }
    var moved: [(key: [UInt8], old: ValuePointer, new: AppendedValue)] = []
    defer { for value in moved { value.new.end() } }
    let owner = journal.identifier ?? 0
    for (key, pointer) in values {
      let copy = try calling("Moving values of \(database.directoryName)") { () throws(SystemError) -> AppendedValue? in
        try self.copy(key, pointer, owner)
      }
      if let copy { moved.append((key, pointer, copy)) }
    }
    try database.transact("Moving values of \(database.directoryName)") { [moved] (session) throws(LMDBError) in
      for (key, old, new) in moved {
        try key.withBytes { (key) throws(LMDBError) in try session.move(key, from: old, to: new.pointer) }
      }
    }
  }

  /// Returns `nil` for a damaged value, which stays in place.
  private func copy(_ key: [UInt8], _ pointer: ValuePointer, _ owner: UInt64) throws(SystemError) -> AppendedValue? {
    let value = try UnsafeMutableRawBufferPointer.allocated(byteCount: pointer.length, for: lock.file.path)
    defer { free(value.baseAddress) }
    guard try lock.file.read(value, at: pointer.offset),
      RecordHeader.payloadHash(UnsafeRawBufferPointer(value)) == pointer.hash
    else { return nil }
    return try key.withBytes { (key) throws(SystemError) in
      try log.append(UnsafeRawBufferPointer(value), key: key, owner: owner)
    }
  }

  // MARK: The entries of the segment

  private func nextValues() throws(SystemError) -> [(key: [UInt8], pointer: ValuePointer)] {
    var values: [(key: [UInt8], pointer: ValuePointer)] = []
    var (bytes, searched) = (0, 0)
    while offset < size, values.count < Self.valuesOfStep, bytes < Self.bytesOfStep, searched < Self.searchOfStep {
      guard let (entry, key) = try entry(at: offset) else {
        let start = offset + ValueEntry.alignment
        offset = try nextMagic(from: start, limit: Self.searchOfStep)
        searched += offset - start + Self.searchLength
        continue
      }
      values.append((key, entry.pointer(identifier)))
      bytes += entry.length
      offset = entry.end
    }
    return values
  }

  private func entry(at offset: Int) throws(SystemError) -> (ValueEntry, key: [UInt8])? {
    try withStackBytes(ValueEntry.greatestHead) { (head) throws(SystemError) in
      let count = try lock.file.readPart(head, at: offset)
      let bytes = UnsafeRawBufferPointer(rebasing: head[..<count])
      guard let entry = ValueEntry(bytes, at: offset, in: identifier, limit: size) else { return nil }
      return (entry, Array(bytes[ValueEntry.headSize..<ValueEntry.headSize + entry.keyLength]))
    }
  }

  /// Finds the next possible entry, or where to search on after about `limit` bytes: a failed write leaves a hole.
  private func nextMagic(from start: Int, limit: Int) throws(SystemError) -> Int {
    var position = start
    var bytes = [UInt8](repeating: 0, count: Self.searchLength)
    while position < size {
      if position - start >= limit { return position }
      let count = try bytes.withMutableBytes { (bytes) throws(SystemError) in
        try lock.file.readPart(bytes, at: position)
      }
      for index in stride(from: 0, to: count, by: ValueEntry.alignment)
      where bytes[index...].starts(with: ValueEntry.magicBytes) { return position + index }
      if count < bytes.count { break }
      position += count
    }
    return size
  }
}
