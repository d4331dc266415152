public import Foundation
import Platform

/// The decoders of what is read from a disk, each by itself: for those who try them with bytes that were made up.
///
/// No part of the supported interface. Every one of them takes any bytes, and ends in time and memory that are
/// proportional to their number: with an error, or with what was read.
@_spi(Fuzzing)
public enum UntrustedBytes {
  /// The object of an archive as a record of that format holds it.
  public static func object(
    _ data: Data, format: ArchiveFormat, allowing classes: [any (NSObject & NSSecureCoding).Type]?
  ) throws -> any NSCoding {
    var coding = ObjectCoding()
    coding.allowedClasses = classes
    return try ObjectArchiver.object(from: data, format: format, with: coding, forKey: "key")
  }

  /// The value of a record that was stored under `key`, whose checksum is only asked for where `isChecked` is true;
  /// `nil` if it is no record, or not that key's, or damaged.
  public static func payload(
    ofRecord record: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer, isChecked: Bool
  ) -> (format: ArchiveFormat, payload: UnsafeRawBufferPointer, length: Int)? {
    guard let header = RecordHeader(record), header.belongs(to: key, in: record),
      !isChecked || header.isIntact(record, key: key)
    else { return nil }
    return (header.format, header.payload(of: record), header.valueLength(in: record))
  }

  /// A record of a value.
  public static func record(
    of value: UnsafeRawBufferPointer, format: ArchiveFormat, key: UnsafeRawBufferPointer, stamp: UInt64, expires: Int64,
    cost: Int, holdsKey: Bool
  ) -> [UInt8] {
    var header = RecordHeader(format: format, expires: expires, now: 1, cost: cost)
    header.stamp = stamp
    header.keyLength = holdsKey ? UInt32(key.count) : 0
    return [UInt8](unsafeUninitializedCapacity: RecordHeader.baseSize + 20 + key.count + value.count) { buffer, count in
      let base = UnsafeMutableRawPointer(buffer.baseAddress.unsafelyUnwrapped)
      header.write(
        to: base, keyHash: RecordHeader.keyHash(key), payloadHash: RecordHeader.payloadHash(value))
      if holdsKey, let start = key.baseAddress {
        (base + header.keyOffset).copyMemory(from: start, byteCount: key.count)
      }
      if let start = value.baseAddress {
        (base + header.payloadOffset).copyMemory(from: start, byteCount: value.count)
      }
      count = header.payloadOffset + value.count
    }
  }

  /// What stands for a record in the sum that the cache's own record keeps over all entries.
  public static func digest(ofRecord record: [UInt8]) -> UInt64 {
    record.withUnsafeBytes { RecordHeader.digest(of: $0) }
  }

  /// What is to be applied of a journal, oldest first: the operation, the key and the record; `nil` if it is no journal.
  public static func frames(ofJournal contents: UnsafeRawBufferPointer) -> [(UInt8, [UInt8], [UInt8])]? {
    JournalFile.runs(in: contents).map { journal in
      JournalRun.frames(of: journal.runs, after: 0).map { ($0.operation.rawValue, Array($0.key), Array($0.record)) }
    }
  }

  /// A journal with these frames in its first segment, sealed as one that was written.
  ///
  /// - Parameters:
  ///   - segments: How many it says that it has.
  ///   - padding: By how many bytes its segments are longer than the frames.
  public static func journal(
    _ frames: [(operation: UInt8, key: [UInt8], record: [UInt8], stamp: UInt64)], identifier: UInt64,
    segments: Int = 1, padding: Int = 0
  ) -> [UInt8] {
    JournalFile.contents(frames, identifier: identifier, segments: segments, padding: padding)
  }

  /// The metadata of a cache, written again, or `nil` if it is none of this version, or damaged.
  public static func metadata(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
    guard case .metadata(let metadata) = CacheMetadata.read(bytes) else { return nil }
    var copy = [UInt8](repeating: 0, count: CacheMetadata.size)
    copy.withUnsafeMutableBytes { metadata.write(to: $0) }
    return copy
  }

  /// Metadata as it was changed, with the checksum that belongs to it.
  public static func sealedMetadata(_ bytes: [UInt8]) -> [UInt8] {
    var copy = bytes
    copy.withUnsafeMutableBytes { CacheMetadata.seal($0) }
    return copy
  }

  /// Metadata of a cache.
  public static func metadata(count: Int, stamp: UInt64) -> [UInt8] {
    var metadata = CacheMetadata(durability: .ordered)
    metadata.count = count
    metadata.lastStamp = stamp
    var bytes = [UInt8](repeating: 0, count: CacheMetadata.size)
    bytes.withUnsafeMutableBytes { metadata.write(to: $0) }
    return bytes
  }

  /// What a process publishes of itself, written again, or `nil` if it is not believed. Also makes of it what who shows it
  /// does.
  public static func statistics(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
    guard let (statistics, number) = StatisticsBlock.read(Array(bytes), identifier: 7) else { return nil }
    var activity = CacheActivity()
    activity.moment.monotonic = 1 << 40
    var meter = ActivityMeter()
    _ = meter.update(with: activity)
    activity.processes = [statistics, statistics]
    activity.processes[1].identifier = 8
    let interval = meter.update(with: activity)
    precondition(interval.processes.allSatisfy { $0.seconds > 0 && $0.rate(\.reads) >= 0 })
    precondition(0...1 ~= activity.statistics.hitRatio && 0...1 ~= interval.statistics.hitRatio)
    for path in CacheLatencies.all {
      let histogram = activity.latencies[keyPath: path]
      precondition((histogram.quantile(0.5) == nil) == (histogram.count == 0))
    }
    return StatisticsBlock.bytes(statistics, number: number)
  }

  /// Such a block as it was changed, of the right length and with the check that belongs to it.
  public static func sealedStatistics(_ bytes: [UInt8]) -> [UInt8] { StatisticsBlock.sealed(bytes) }

  /// What a process publishes that has done nothing yet, or something.
  public static func statistics(name: String, count: Int) -> [UInt8] {
    var statistics = ProcessStatistics()
    statistics.process = 1
    statistics.name = name
    (statistics.opened.monotonic, statistics.published.monotonic) = (1, 2)
    for path in CacheStatistics.counters { statistics.statistics[keyPath: path] = count }
    for path in CacheLatencies.all {
      for time in 0..<count { statistics.latencies[keyPath: path].record(nanoseconds: Int64(time) << 20) }
    }
    return StatisticsBlock.bytes(statistics, number: 1)
  }

  /// The name of the segment that a record refers to in place of its value, and the pointer written again.
  public static func pointer(_ bytes: UnsafeRawBufferPointer) -> (name: String, written: [UInt8])? {
    guard bytes.count == ValuePointer.size else { return nil }
    let pointer = ValuePointer(bytes)
    return (ValueSegment.name(pointer.segment), pointer.withBytes { Array($0) })
  }

  /// The key and the value's length of an entry of the value log; `nil` if it is none.
  public static func valueEntry(
    _ bytes: UnsafeRawBufferPointer, at offset: Int, in segment: UInt64, limit: Int
  ) -> (key: [UInt8], length: Int)? {
    guard let entry = ValueEntry(bytes, at: offset, in: segment, limit: limit) else { return nil }
    return (Array(bytes[ValueEntry.headSize..<ValueEntry.headSize + entry.keyLength]), entry.length)
  }
}

extension JournalFile {
  /// A journal of one segment as bytes.
  fileprivate static func contents(
    _ frames: [(operation: UInt8, key: [UInt8], record: [UInt8], stamp: UInt64)], identifier: UInt64, segments: Int,
    padding: Int
  ) -> [UInt8] {
    let length = frames.reduce(JournalSegment.headerSize) {
      $0 + JournalFrame.size(keyLength: $1.key.count, recordLength: $1.record.count)
    }
    let segmentSize = length + padding
    let buffer = UnsafeMutableRawBufferPointer.allocate(
      byteCount: headerSize + max(1, segments) * segmentSize, alignment: 64)
    defer { buffer.deallocate() }
    buffer.initializeMemory(as: UInt8.self, repeating: 0)
    let base = buffer.baseAddress.unsafelyUnwrapped
    writeHeader(to: base, identifier: identifier, segmentSize: segmentSize, count: segments, boot: .unknown)
    let generation: UInt64 = 1
    base.storeBytes(of: generation, toByteOffset: headerSize, as: UInt64.self)
    var position = base + headerSize + JournalSegment.headerSize
    for frame in frames {
      frame.key.withUnsafeBytes {
        JournalFrame.writeFields(
          position, JournalFrame.Operation(rawValue: frame.operation) ?? .remove, key: $0,
          recordLength: frame.record.count)
      }
      let record = position + JournalFrame.headerSize + JournalFrame.padded(frame.key.count)
      frame.record.withUnsafeBytes {
        if let start = $0.baseAddress { record.copyMemory(from: start, byteCount: $0.count) }
      }
      JournalFrame.seal(
        position, flags: [], stamp: frame.stamp, keyLength: frame.key.count, recordLength: frame.record.count,
        seed: JournalSegment.frameSeed(identifier, generation: generation))
      position += JournalFrame.size(keyLength: frame.key.count, recordLength: frame.record.count)
    }
    return Array(buffer)
  }
}
