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
    guard let header = RecordHeader(record), header.belongs(to: key, in: record),
      !isChecked || header.isIntact(record, key: key)
    else { return nil }
    return (header.format, header.payload(of: record), header.valueLength(in: record))
  }

  /// Encodes a record.
  package static func record(
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

  /// The record's part in the checksum over all entries.
  package static func digest(ofRecord record: [UInt8]) -> UInt64 {
    record.withUnsafeBytes { RecordHeader.digest(of: $0) }
  }

  /// The operation, key and record of a journal's live frames, oldest first; `nil` if it is invalid.
  package static func frames(ofJournal contents: UnsafeRawBufferPointer) -> [(UInt8, [UInt8], [UInt8])]? {
    guard let image = JournalImage.read(contents), !image.isDamaged else { return nil }
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
    guard case .metadata(let metadata) = CacheMetadata.read(bytes) else { return nil }
    var copy = [UInt8](repeating: 0, count: CacheMetadata.size)
    copy.withUnsafeMutableBytes { metadata.write(to: $0) }
    return copy
  }

  /// Seals changed metadata with the right checksum.
  package static func sealedMetadata(_ bytes: [UInt8]) -> [UInt8] {
    var copy = bytes
    copy.withUnsafeMutableBytes { CacheMetadata.seal($0) }
    return copy
  }

  /// Encodes the metadata of a cache.
  package static func metadata(count: Int, stamp: UInt64) -> [UInt8] {
    var metadata = CacheMetadata(durability: .ordered)
    metadata.count = count
    metadata.lastStamp = stamp
    var bytes = [UInt8](repeating: 0, count: CacheMetadata.size)
    bytes.withUnsafeMutableBytes { metadata.write(to: $0) }
    return bytes
  }

  /// Decodes a process's published statistics, formats them, and re-encodes them; `nil` if they are invalid.
  package static func statistics(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
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
    let pointer = ValuePointer(bytes)
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
