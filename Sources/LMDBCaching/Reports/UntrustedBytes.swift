package import Foundation
import Platform

/// The decoders of data read from a disk, for fuzzing.
///
/// Each takes any bytes, and returns or throws in proportional time and memory.
package enum UntrustedBytes {
  /// The object of an archive in a record's format.
  package static func object(
    _ data: Data, format: ArchiveFormat, allowing classes: [any (NSObject & NSSecureCoding).Type]?
  ) throws -> any NSCoding {
    var coding = ObjectCoding()
    coding.allowedClasses = classes
    return try ObjectArchiver.object(from: data, format: format, with: coding, forKey: "key")
  }

  /// The value of a record under `key`, or `nil` if it is invalid, damaged or has another key. The checksum is verified
  /// if `isChecked`.
  package static func payload(
    ofRecord record: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer, isChecked: Bool
  ) -> (format: ArchiveFormat, payload: UnsafeRawBufferPointer, length: Int)? {
    let (record, key) = unsafe (ByteView(record), ByteView(key))
    guard let header = RecordHeader(record), header.belongs(to: key, in: record),
      !isChecked || header.isIntact(record, key: key)
    else { return nil }
    return unsafe (header.format, header.payload(of: record).buffer, header.valueLength(in: record))
  }

  /// Encodes a record.
  package static func record(
    of value: UnsafeRawBufferPointer, format: ArchiveFormat, key: UnsafeRawBufferPointer, stamp: UInt64, expires: Int64,
    cost: Int, holdsKey: Bool
  ) -> [UInt8] {
    let (value, key) = unsafe (ByteView(value), ByteView(key))
    var header = RecordHeader(format: format, expires: expires, now: 1, cost: cost)
    header.stamp = stamp
    header.keyLength = holdsKey ? UInt32(key.count) : 0
    var record = [UInt8](repeating: 0, count: header.payloadOffset + value.count)
    record.withMutableBytes { record in
      header.write(to: record, keyHash: RecordHeader.keyHash(key), payloadHash: RecordHeader.payloadHash(value))
      if holdsKey { record.copy(key, at: header.keyOffset) }
      record.copy(value, at: header.payloadOffset)
    }
    return record
  }

  /// The record's part in the checksum over all entries.
  package static func digest(ofRecord record: [UInt8]) -> UInt64 {
    record.withBytes { RecordHeader.digest(of: $0) }
  }

  /// The operation, key and record of a journal's live frames, oldest first; `nil` if it is invalid.
  package static func frames(ofJournal contents: UnsafeRawBufferPointer) -> [(UInt8, [UInt8], [UInt8])]? {
    guard let image = unsafe JournalImage.read(ByteView(contents)), !image.isDamaged else { return nil }
    return image.frames(after: 0).map { ($0.operation.rawValue, Array($0.key), Array($0.record)) }
  }

  /// A sealed journal with these frames in its first segment.
  ///
  /// - Parameters:
  ///   - segments: The number of segments in its header.
  ///   - padding: How much longer its segments are than the frames.
  package static func journal(
    _ frames: [(operation: UInt8, key: [UInt8], record: [UInt8], stamp: UInt64)], identifier: UInt64,
    segments: Int = 1, padding: Int = 0
  ) -> [UInt8] {
    JournalFile.contents(frames, identifier: identifier, segments: segments, padding: padding)
  }

  /// Decodes and re-encodes the metadata of a cache; `nil` if it is damaged or of another version.
  package static func metadata(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
    if case .metadata(let metadata) = unsafe CacheMetadata.read(ByteView(bytes)) { metadata.stored } else { nil }
  }

  /// Seals changed metadata with the right checksum.
  package static func sealedMetadata(_ bytes: [UInt8]) -> [UInt8] {
    var copy = bytes
    copy.withMutableBytes { CacheMetadata.seal($0) }
    return copy
  }

  /// Encodes the metadata of a cache.
  package static func metadata(count: Int, stamp: UInt64) -> [UInt8] {
    var metadata = CacheMetadata(durability: .ordered)
    metadata.count = count
    metadata.lastStamp = stamp
    return metadata.stored
  }

  /// Decodes a process's published statistics, formats them, and re-encodes them; `nil` if they are invalid.
  package static func statistics(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
    guard let (statistics, number) = unsafe StatisticsBlock.read(Array(bytes), identifier: 7) else { return nil }
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

  /// Seals changed statistics with the right length and check.
  package static func sealedStatistics(_ bytes: [UInt8]) -> [UInt8] { StatisticsBlock.sealed(bytes) }

  /// Encodes a process's statistics.
  package static func statistics(name: String, count: Int) -> [UInt8] {
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

  /// The segment name of a value pointer, and the pointer re-encoded.
  package static func pointer(_ bytes: UnsafeRawBufferPointer) -> (name: String, written: [UInt8])? {
    guard bytes.count == ValuePointer.size else { return nil }
    let pointer = unsafe ValuePointer(ByteView(bytes))
    return (ValueSegment.name(pointer.segment), pointer.withBytes { Array($0) })
  }
}

extension JournalFile {
  fileprivate static func contents(
    _ frames: [(operation: UInt8, key: [UInt8], record: [UInt8], stamp: UInt64)], identifier: UInt64, segments: Int,
    padding: Int
  ) -> [UInt8] {
    let length = frames.reduce(JournalSegment.headerSize) {
      $0 + JournalFrame.size(keyLength: $1.key.count, recordLength: $1.record.count)
    }
    let segmentSize = length + padding
    var file = [UInt8](repeating: 0, count: headerSize + max(1, segments) * segmentSize)
    file.withMutableBytes { file in
      writeHeader(to: file, identifier: identifier, segmentSize: segmentSize, count: segments, boot: .unknown)
      let generation: UInt64 = 1
      file.store(generation, at: headerSize)
      var rest = file[(headerSize + JournalSegment.headerSize)...]
      for frame in frames {
        let (keyLength, recordLength) = (frame.key.count, frame.record.count)
        frame.key.withBytes {
          JournalFrame.writeFields(
            rest, JournalFrame.Operation(rawValue: frame.operation) ?? .remove, key: $0, recordLength: recordLength)
        }
        frame.record.withBytes { rest.copy($0, at: JournalFrame.recordOffset(keyLength: keyLength)) }
        JournalFrame.seal(
          rest, flags: [], stamp: frame.stamp, keyLength: keyLength, recordLength: recordLength,
          seed: JournalSegment.frameSeed(identifier, generation: generation))
        rest = rest[JournalFrame.size(keyLength: keyLength, recordLength: recordLength)...]
      }
    }
    return file
  }
}
