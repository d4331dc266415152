import Foundation
import Platform
import Synchronization

/// Reads values of the log, whichever process wrote them, and keeps some segments open. Threads: any.
final class ValueReader: Sendable {
  /// The maximum number of open segments: each takes a descriptor and address space.
  private static let maximumSegments = 64

  enum Reading<Value> {
    case value(Value)
    /// The segment is missing: the entry was replaced or moved, or the file was deleted.
    case missing
    /// The bytes do not match their checksum.
    case damaged

    func map<Other>(_ transform: (Value) -> Other) -> Reading<Other> {
      switch self {
      case .value(let value): .value(transform(value))
      case .missing: .missing
      case .damaged: .damaged
      }
    }
  }

  private let current: CurrentDirectory
  private let segmentSize: Int
  private let maps: Bool
  private let segments = Mutex<[UInt64: ReadableSegment]>([:])
  private let uses = Atomic<UInt64>(0)

  /// - Parameter maps: Whether to read long values in place if they are in memory.
  init(_ current: CurrentDirectory, segmentSize: Int, maps: Bool = true) {
    self.current = current
    self.segmentSize = segmentSize
    self.maps = maps
  }

  // MARK: Reading

  func read(_ pointer: ValuePointer) throws(SystemError) -> Reading<Data> {
    guard pointer.end != nil else { return .damaged }
    guard let segment = try segment(pointer.segment) else { return .missing }
    return try read(pointer, of: segment)
  }

  private func read(_ pointer: ValuePointer, of segment: ReadableSegment) throws(SystemError) -> Reading<Data> {
    // Before memory is allocated.
    guard let end = pointer.end, try segment.mayReach(end) else { return .damaged }
    let bytes = try UnsafeMutableRawBufferPointer.allocated(byteCount: pointer.length, for: current.value.path)
    var isHandedOver = false
    defer { if !isHandedOver { free(bytes.baseAddress) } }
    guard try segment.read(bytes, at: pointer.offset),
      RecordHeader.payloadHash(UnsafeRawBufferPointer(bytes)) == pointer.hash
    else { return .damaged }
    // Only once it is filled: `Data` copies a few bytes, and frees the memory at once.
    isHandedOver = true
    return .value(Data(bytesNoCopy: bytes.baseAddress!, count: pointer.length, deallocator: .free))
  }

  /// Calls `body` with a value, in place if it is long and in memory, or copied.
  func withValue<R>(
    _ pointer: ValuePointer, _ body: (UnsafeRawBufferPointer) -> R
  ) throws(SystemError) -> Reading<R> {
    guard pointer.end != nil else { return .damaged }
    guard let segment = try segment(pointer.segment) else { return .missing }
    if let bytes = segment.mappedBytes(at: pointer.offset, count: pointer.length) {
      return withExtendedLifetime(segment) {
        RecordHeader.payloadHash(bytes) == pointer.hash ? .value(body(bytes)) : .damaged
      }
    }
    return try read(pointer, of: segment).map { $0.withUnsafeBytes(body) }
  }

  /// Whether the file includes a value's place.
  func isPresent(_ pointer: ValuePointer) throws(SystemError) -> Bool {
    guard let end = pointer.end, let size = try ValueFolder(cache: current.value).size(pointer.segment) else {
      return false
    }
    return end <= size
  }

  func isIntact(_ pointer: ValuePointer) throws(SystemError) -> Bool {
    // Rejects a forged length, beyond the segment's end.
    guard try isPresent(pointer) else { return false }
    if case .value = try read(pointer) { return true } else { return false }
  }

  /// Makes segments of other processes, and their names, durable.
  func synchronize(_ identifiers: Set<UInt64>) throws(SystemError) {
    if identifiers.isEmpty { return }
    for identifier in identifiers { try segment(identifier)?.synchronize() }
    try ValueFolder(cache: current.value).synchronize()
  }

  // MARK: Segments. They are closed without the lock, which readers wait for

  private func segment(_ identifier: UInt64) throws(SystemError) -> ReadableSegment? {
    let use = uses.add(1, ordering: .relaxed).newValue
    if let known = segments.withLock({ $0[identifier] }) {
      known.lastUse.store(use, ordering: .relaxed)
      return known
    }
    guard let file = try open(identifier) else { return nil }
    let opened = try ReadableSegment(file, segmentSize: segmentSize, maps: maps)
    opened.lastUse.store(use, ordering: .relaxed)
    let (kept, forgotten) = segments.withLock { segments -> (ReadableSegment, ReadableSegment?) in
      if let known = segments[identifier] { return (known, nil) }
      let forgotten = segments.count >= Self.maximumSegments ? Self.takeOldest(&segments) : nil
      segments[identifier] = opened
      return (opened, forgotten)
    }
    withExtendedLifetime(forgotten) {}
    return kept
  }

  private func open(_ identifier: UInt64) throws(SystemError) -> File? {
    let folder = ValueFolder(cache: current.value)
    do throws(SystemError) {
      return try folder.open(identifier)
    } catch {
      // Free descriptors, because none are left.
      guard error.errno == EMFILE || error.errno == ENFILE else { throw error }
      forgetAll()
      return try folder.open(identifier)
    }
  }

  private static func takeOldest(_ segments: inout [UInt64: ReadableSegment]) -> ReadableSegment? {
    let oldest = segments.min {
      $0.value.lastUse.load(ordering: .relaxed) < $1.value.lastUse.load(ordering: .relaxed)
    }
    return oldest.flatMap { segments.removeValue(forKey: $0.key) }
  }

  /// Closes removed segments, whose space the disk gets back only then.
  func forgetRemoved() {
    let removed = segments.withLock { $0 }.filter { $0.value.isRemoved }
    if removed.isEmpty { return }
    segments.withLock { segments in
      for (identifier, segment) in removed where segments[identifier] === segment { segments[identifier] = nil }
    }
  }

  /// Closes all segments, for another directory.
  func forgetAll() {
    let all = segments.withLock { segments in
      defer { segments = [:] }
      return segments
    }
    withExtendedLifetime(all) {}
  }
}
