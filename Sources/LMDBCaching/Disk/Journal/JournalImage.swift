import Platform

/// A journal as it is in its file now, read without its lock: neither its owner is disturbed by that, nor who would apply
/// it, for whom a journal that somebody has locked is one whose owner lives.
///
/// The owner may be writing. A frame is there as a whole then, since its check is of the segment's generation, and of its
/// batch all frames are; or it is not there yet, or not any more, since it is committed. So who reads the journal before
/// the database misses nothing that was acknowledged.
///
/// Memory: the key and some dozen bytes for each frame, and the longest frame. What a frame puts is read when it is asked
/// for.
final class JournalImage {
  struct Frame {
    let operation: JournalFrame.Operation
    /// Whether the next one is of the same batch.
    let isContinued: Bool
    /// Which segment it is in.
    fileprivate let segment: UInt8
    fileprivate let keyLength: UInt32
    fileprivate let keyStart: Int
    /// Where it is in the file, and its bytes there.
    fileprivate let offset: Int
    fileprivate let size: Int
    let stamp: UInt64
  }

  /// What one segment holds: see ``JournalRun``.
  private struct Run {
    let previous: UInt64
    /// Indexes, at least one.
    let frames: Range<Int>
  }

  let identifier: UInt64
  /// Which file it is.
  let identity: FileIdentity
  /// Whether the header is damaged, so that nothing can be read.
  let isDamaged: Bool
  /// See ``OrphanedJournal/isOfThisRun``.
  let isOfThisRun: Bool
  private let file: File
  private(set) var frames: [Frame] = []
  /// Where the values are of frames that put one which is in the value log, by their indexes.
  private(set) var pointers: [Int: ValuePointer] = [:]
  private var runs: [Run] = []
  /// What the checks of the frames of each segment begin with.
  private var seeds: [UInt64] = []
  /// One behind the other.
  private var keys: [UInt8] = []

  /// Returns `nil` if there is none, or it is no journal, or one that is being made.
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
    // The header is written when the file has its blocks.
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
    // A batch whose end is missing never happened.
    for index in wholeBatches..<frames.count { pointers[index] = nil }
    frames.removeSubrange(wholeBatches...)
    keys.removeSubrange(wholeKeys...)
    if frames.count > first { runs.append(Run(previous: previous, frames: first..<frames.count)) }
  }

  /// The frame at an offset, if there is a whole one. It is valid until the next one is read.
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

  /// The stamp of the last frame before those that are in it: see ``JournalRun``. `nil` if it holds none.
  var previousStamp: UInt64? { runs.first?.previous }

  /// The frames that are newer than `watermark`, as indexes, oldest first, up to the first gap: see
  /// ``JournalRun/frames(of:after:)``.
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

  /// Calls `body` with the key, the prefix or the tag that a frame is about.
  func withKey<R>(of frame: Frame, _ body: (UnsafeRawBufferPointer) -> R) -> R {
    keys.withUnsafeBytes { keys in
      body(UnsafeRawBufferPointer(rebasing: keys[frame.keyStart..<frame.keyStart + Int(frame.keyLength)]))
    }
  }

  func tag(of frame: Frame) -> UInt64 {
    withKey(of: frame) { $0.count == 8 ? UInt64(littleEndian: $0.loadUnaligned(as: UInt64.self)) : 0 }
  }

  /// Reads what a frame puts. Returns `nil` if it is not there any more: its segment was committed.
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
