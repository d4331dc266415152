import Platform

/// A journal read from its file without its lock, which would make its owner seem alive to a replay.
///
/// The owner may be writing. Each frame is present completely, as is its batch, or not present: not yet written, or
/// already committed. So reading the journal before the database misses no acknowledged write.
///
/// Memory: a few dozen bytes and the key per frame, plus the longest frame. Records are read on demand.
final class JournalImage {
  struct Frame {
    let operation: JournalFrame.Operation
    let isContinued: Bool
    fileprivate let segment: UInt8
    fileprivate let keyLength: UInt32
    fileprivate let keyStart: Int
    /// The frame's place in the file.
    fileprivate let offset: Int
    fileprivate let size: Int
    let stamp: UInt64
  }

  /// The frames of one segment (``JournalRun``).
  private struct Run {
    let previous: UInt64
    let frames: Range<Int>
  }

  let identifier: UInt64
  let identity: FileIdentity
  /// Whether the header is damaged, so that nothing can be read.
  let isDamaged: Bool
  /// Whether the journal was created in this boot, and so lost nothing to a power cut.
  let isOfThisRun: Bool
  private let file: File
  private(set) var frames: [Frame] = []
  /// The places of values in the value log, by frame index.
  private(set) var pointers: [Int: ValuePointer] = [:]
  private var runs: [Run] = []
  /// The seeds of the segments' frame checks.
  private var seeds: [UInt64] = []
  private var keys: [UInt8] = []

  /// Returns `nil` if there is no complete journal.
  init?(in folder: Directory, name: String) throws(SystemError) {
    guard let file = try folder.open(name) else { return nil }
    let status = try file.status()
    var header = [UInt8](repeating: 0, count: JournalFile.fieldsSize)
    guard JournalFile.headerSize...JournalFile.maximumSize ~= status.size, try file.read(&header),
      JournalFile.isOurs(header)
    else { return nil }
    let layout = header.withUnsafeBytes { JournalFile.layout($0, size: status.size) }
    identity = status.identity
    identifier = layout?.identifier ?? 0
    // The header is written after the file has its blocks.
    isDamaged = layout == nil && header[8..<40].contains { $0 != 0 }
    isOfThisRun = header.withUnsafeBytes { JournalFile.boot($0) }.isKnownToBe(.current)
    self.file = file
    guard let layout else { return }
    let window = FileWindow()
    for index in 0..<layout.segmentCount {
      let start = layout.start(ofSegment: index)
      try readRun(start..<start + layout.segmentSize, window)
    }
    runs.sort { frames[$0.frames.lowerBound].stamp < frames[$1.frames.lowerBound].stamp }
  }

  private func readRun(_ segment: Range<Int>, _ window: FileWindow) throws(SystemError) {
    guard let header = try window.bytes(at: segment.lowerBound, count: JournalSegment.headerSize, segment, of: file)
    else {
      seeds.append(0)
      return
    }
    let (generation, previous) = (header.load(as: UInt64.self), header.load(fromByteOffset: 8, as: UInt64.self))
    let seed = JournalSegment.frameSeed(identifier, generation: generation)
    seeds.append(seed)
    let first = frames.count
    var (wholeBatches, wholeKeys) = (first, keys.count)
    var offset = segment.lowerBound + JournalSegment.headerSize
    while let frame = try frame(at: offset, segment, seed, window) {
      let start = keys.count
      keys += frame.key
      if let pointer = frame.pointer { pointers[frames.count] = pointer }
      frames.append(
        Frame(
          operation: frame.operation, isContinued: frame.flags.contains(.batchContinues),
          segment: UInt8(seeds.count - 1), keyLength: UInt32(frame.keyLength), keyStart: start, offset: offset,
          size: frame.paddedLength, stamp: frame.stamp))
      offset += frame.paddedLength
      if !frame.flags.contains(.batchContinues) { (wholeBatches, wholeKeys) = (frames.count, keys.count) }
    }
    // An incomplete batch never happened.
    for index in wholeBatches..<frames.count { pointers[index] = nil }
    frames.removeSubrange(wholeBatches...)
    keys.removeSubrange(wholeKeys...)
    if frames.count > first { runs.append(Run(previous: previous, frames: first..<frames.count)) }
  }

  /// The whole frame at an offset, if any, valid until the next read.
  private func frame(
    at offset: Int, _ segment: Range<Int>, _ seed: UInt64, _ window: FileWindow
  ) throws(SystemError) -> JournalFrame? {
    guard let header = try window.bytes(at: offset, count: JournalFrame.headerSize, segment, of: file)
    else { return nil }
    let lengths = JournalFrame(base: header.baseAddress!)
    let size = JournalFrame.size(keyLength: lengths.keyLength, recordLength: lengths.recordLength)
    guard let bytes = try window.bytes(at: offset, count: size, segment, of: file) else { return nil }
    return JournalFrame(validating: bytes, seed: seed)
  }

  // MARK: What is in it

  /// The stamp of the last frame before these; `nil` if there are none.
  var previousStamp: UInt64? { runs.first?.previous }

  /// The indexes of the frames after `watermark`, oldest first, up to the first gap (``JournalRun/frames(of:after:)``).
  func frames(after watermark: UInt64) -> [Int] {
    var last = watermark
    var found: [Int] = []
    for run in runs {
      guard run.previous <= last else { break }
      found += run.frames.filter { frames[$0].stamp > watermark }
      last = max(last, frames[run.frames.upperBound - 1].stamp)
    }
    return found
  }

  func withKey<R>(of frame: Frame, _ body: (UnsafeRawBufferPointer) -> R) -> R {
    keys.withUnsafeBytes { keys in
      body(UnsafeRawBufferPointer(rebasing: keys[frame.keyStart..<frame.keyStart + Int(frame.keyLength)]))
    }
  }

  func tag(of frame: Frame) -> UInt64 {
    withKey(of: frame) { $0.count == 8 ? UInt64(littleEndian: $0.loadUnaligned(as: UInt64.self)) : 0 }
  }

  /// Reads the record that a frame puts. Returns `nil` if its segment has been committed and reused.
  func record(of frame: Frame) throws(SystemError) -> [UInt8]? {
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: frame.size, alignment: 16)
    defer { bytes.deallocate() }
    guard try file.read(bytes, at: frame.offset),
      let found = JournalFrame(validating: UnsafeRawBufferPointer(bytes), seed: seeds[Int(frame.segment)]),
      found.stamp == frame.stamp
    else { return nil }
    return Array(found.record)
  }
}

/// A dead process's journal, locked by this process and read into memory.
struct OrphanedJournal: ~Copyable {
  let name: String
  private let folder: Directory
  private let lock: FileLock
  private let contents: UnsafeMutableRawBufferPointer
  let identifier: UInt64
  /// Oldest first; valid for this value's lifetime.
  let runs: [JournalRun]
  /// Whether it was created in this boot, so that no power cut affected it.
  let isOfThisRun: Bool
  /// Whether the header is damaged, or the device could not read all of it.
  let isDamaged: Bool

  /// Reads what the device can: an unreadable block would otherwise keep the cache from ever opening. What follows it
  /// is lost, as after a power cut.
  ///
  /// Returns `nil` if the journal is in use, gone, or another kind of file.
  init?(in folder: Directory, name: String) throws(SystemError) {
    guard let file = try folder.open(name, .writing, requiresOneName: true) else { return nil }
    let lock = FileLock(file)
    guard try lock.tryLock(.exclusive), try lock.file.isStill(name, in: folder) else { return nil }
    let size = try lock.file.status().size
    var beginning = [UInt8](repeating: 0, count: min(8, size))
    guard try ifReadable({ () throws(SystemError) in try lock.file.read(&beginning) }) != false else { return nil }
    // A dead owner may leave an empty file, and a power cut one of zeros. An unreadable header counts as such.
    guard JournalFile.isOurs(beginning) || beginning.allSatisfy({ $0 == 0 }) else { return nil }
    // A file larger than any valid journal is not this package's.
    let contents = try UnsafeMutableRawBufferPointer.allocated(
      byteCount: size <= JournalFile.maximumSize ? size : 0, for: lock.file.path)
    var isWhole = true
    var found: (identifier: UInt64, runs: [JournalRun])?
    do throws(SystemError) {
      if try Self.read(lock.file, contents, isWhole: &isWhole) {
        found = JournalFile.runs(in: UnsafeRawBufferPointer(contents))
      }
    } catch {
      free(contents.baseAddress)
      throw error
    }
    self.name = name
    self.folder = folder
    self.lock = lock
    self.contents = contents
    identifier = found?.identifier ?? 0
    runs = found?.runs ?? []
    isOfThisRun = JournalFile.boot(UnsafeRawBufferPointer(contents)).isKnownToBe(.current)
    // The header is written after the file has its blocks.
    isDamaged =
      !isWhole || found == nil && contents.count >= JournalFile.headerSize && contents[8..<40].contains { $0 != 0 }
  }

  /// Fills `bytes`; returns `false` if the file is shorter. Unreadable blocks become zeros.
  private static func read(
    _ file: borrowing File, _ bytes: UnsafeMutableRawBufferPointer, isWhole: inout Bool
  ) throws(SystemError) -> Bool {
    if let isThere = try ifReadable({ () throws(SystemError) in try file.read(bytes) }) { return isThere }
    isWhole = false
    for start in stride(from: 0, to: bytes.count, by: 4096) {
      let block = UnsafeMutableRawBufferPointer(rebasing: bytes[start..<min(start + 4096, bytes.count)])
      switch try ifReadable({ () throws(SystemError) in try file.read(block, at: start) }) {
      case true: break
      case false: return false
      case nil: block.initializeMemory(as: UInt8.self, repeating: 0)
      }
    }
    return true
  }

  deinit { free(contents.baseAddress) }

  /// Removes the file after its frames are in the database. A damaged one is kept under another name.
  consuming func remove() throws(SystemError) {
    if isDamaged {
      try folder.rename(name, to: JournalFolder.damagedName)
    } else {
      try folder.remove(name)
    }
  }
}

/// The contents of one segment of a dead process's journal.
struct JournalRun {
  /// The stamp of the frame written before this run's first; 0 for a journal's first run.
  let previous: UInt64
  let frames: [JournalFrame]

  /// The frames after `watermark`, oldest first, up to the first gap.
  ///
  /// A process crash leaves no gap. Power cuts, which persist pages in any order, and damage do: writes after a lost
  /// one must not survive it.
  static func frames(of runs: [JournalRun], after watermark: UInt64) -> [JournalFrame] {
    var last = watermark
    var found: [JournalFrame] = []
    for run in runs {
      guard run.previous <= last else { break }
      found += run.frames.filter { $0.stamp > watermark }
      last = max(last, run.frames.last!.stamp)
    }
    return found
  }
}
