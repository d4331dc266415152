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
