import Foundation
import FoundationObjects

/// The bytes of a value being encoded and its nested values.
///
/// Values are appended in order. When a value ends, its container gets its head, and a map with unsorted keys is
/// sorted. This requires that a nested value ends before anything else is written, which is nearly always so.
/// Containers without a known end, from `nestedContainer` and `superEncoder`, get a separate buffer, which is copied
/// into a reserved gap, a *hole*, when the enclosing value ends.
final class CBOREncodingBuffer {
  let session: CBOREncodingSession
  // Unchecked: accesses never overlap, and a check would cost as much as the access.
  @exclusivity(unchecked) var writer = CBORWriter(capacity: 128)
  /// The innermost value being encoded.
  @exclusivity(unchecked) var top = CBOREncodingFrame(
    serial: 0, path: CBORCodingPath.root, kind: .none, start: 0, firstEntry: 0)
  @exclusivity(unchecked) private var frames = CBORStack<CBOREncodingFrame>(capacity: 4)
  @exclusivity(unchecked) var entries = CBORStack<CBOREncodingEntry>(capacity: 8)
  @exclusivity(unchecked) var holes: [CBOREncodingHole] = []
  /// Indexes in `entries` by key, for large values with nested containers.
  @exclusivity(unchecked) var names: [CBOREncodingName: Int] = [:]

  init(_ session: CBOREncodingSession) { self.session = session }

  /// Starts over with one value.
  func begin(path: CBORCodingPath.Reference, _ kind: CBOREncodingFrame.Kind) {
    abandon()
    writer.removeAll()
    top = CBOREncodingFrame(serial: session.nextSerial(), path: path, kind: .none, start: 0, firstEntry: 0)
    open(kind)
  }

  /// Discards incomplete values and their containers.
  func abandon() {
    entries.truncate(to: 0)
    frames.truncate(to: 0)
    if !holes.isEmpty { holes = [] }
    if !names.isEmpty { names = [:] }
    top.serial = 0
  }

  // MARK: Containers

  /// Sets the kind of the innermost value. Returns `false` if it already has another one.
  ///
  /// Requesting the same kind again is valid: a class and its superclass that share an encoder write to the same
  /// container.
  @inline(__always)
  @discardableResult
  func open(_ kind: CBOREncodingFrame.Kind) -> Bool {
    if top.kind == .none {
      top.kind = kind
      // A placeholder for the head, widened at the end if necessary.
      if kind == .keyed || kind == .unkeyed { writer.writeByte(0) }
      return true
    }
    return top.kind == kind
  }

  /// The serial of the requested container, or ``CBOREncodingFrame/refused`` after recording a failure.
  @inline(__always)
  func container(_ kind: CBOREncodingFrame.Kind, _ serial: UInt64) -> UInt64 {
    if serial == top.serial && open(kind) { return serial }
    return refuseContainer(kind, serial)
  }

  // MARK: Values

  @inline(__always)
  func beginEntry(_ key: some CodingKey, _ serial: UInt64) throws {
    guard serial == top.serial else { throw staleError(serial, key) }
    beginEntry(key.stringValue)
  }

  @inline(__always)
  private func beginEntry(_ name: String) {
    name.withUTF8Bytes { utf8 in
      let start = writer.count
      if top.count > 0 { finishEntry(at: start, utf8) }
      appendEntry(keyLength: utf8.count)
      writer.writeText(utf8: utf8)
    }
  }

  /// Records an entry that begins here.
  @inline(__always)
  func appendEntry(keyLength: Int) {
    entries.append(CBOREncodingEntry(start: writer.count, keyLength: keyLength, end: 0, hole: -1))
    top.count &+= 1
  }

  /// Compares a new key with the last one.
  @inline(__always)
  private func finishEntry(at end: Int, _ utf8: UnsafeRawBufferPointer) {
    let last = entries[entries.count &- 1]
    guard top.isSorted, utf8.count <= last.keyLength else { return }
    if utf8.count == last.keyLength {
      let isLater = writer.withBytes { bytes in
        memcmp(bytes.baseAddress.unsafelyUnwrapped + last.keyStart, utf8.baseAddress ?? bytes.baseAddress!, utf8.count)
          < 0
      }
      if isLater { return }
    }
    top.isSorted = false
  }

  @inline(__always)
  func beginElement(_ serial: UInt64) throws {
    guard serial == top.serial else { throw staleError(serial, CBORCodingKey(index: 0)) }
    if top.holeCount > 0 { fillLastHole() }
    top.count &+= 1
  }

  @inline(__always)
  func beginSingle(_ serial: UInt64) throws {
    guard serial == top.serial, top.count == 0 else { throw staleSingleError(serial) }
    top.count = 1
  }

  struct Mark {
    fileprivate let writerCount: Int
    fileprivate let entryCount: Int
    fileprivate let holeCount: Int
    fileprivate let top: CBOREncodingFrame
    fileprivate let depth: Int
    fileprivate let path: CBORCodingPath.Mark

    /// The index of the element that begins there.
    @inline(__always) var index: Int { top.count }
  }

  /// The mark before an entry, an element or a single value.
  @inline(__always) var mark: Mark {
    Mark(
      writerCount: writer.count, entryCount: entries.count, holeCount: holes.count, top: top, depth: frames.count,
      path: session.path.mark)
  }

  /// The mark before an array element.
  @inline(__always) var elementMark: Mark {
    // Fill holes now, so that a rollback does not lose them.
    if top.kind == .unkeyed && top.holeCount > 0 { fillLastHole() }
    return mark
  }

  /// Undoes a value that threw, for callers that continue.
  func rollBack(to mark: Mark) {
    writer.truncate(to: mark.writerCount)
    entries.truncate(to: mark.entryCount)
    if holes.count > mark.holeCount { holes.removeLast(holes.count - mark.holeCount) }
    frames.truncate(to: mark.depth)
    top = mark.top
    session.path.pop(to: mark.path)
  }

  /// Encodes a begun value by its conformance.
  @inline(__always)
  func encodeValue<T: Encodable>(_ value: T, path: CBORCodingPath.Reference, mark: Mark) throws {
    do {
      if let failure = session.nesting.check(session.path.depth(of: path)) {
        throw depthError(value, path, failure)
      }
      frames.append(top)
      let serial = session.nextSerial()
      top = CBOREncodingFrame(
        serial: serial, path: path, kind: .none, start: writer.count, firstEntry: entries.count)
      try value.encode(to: CBORValueEncoder(buffer: self, serial: serial))
      if let failure = session.failure { throw error(failure, value) }
      sortElements(of: T.self)
      close()
      top = frames.removeLast()
      session.path.pop(to: mark.path)
    } catch {
      rollBack(to: mark)
      throw error
    }
  }

  // MARK: Ends

  /// Sorts the encoded elements of a set, or of a dictionary that is not a map, to make them independent of hashes.
  @inline(__always)
  func sortElements<T>(of type: T.Type) {
    guard top.kind == .unkeyed, top.count > 1 else { return }
    let stride = CBORUnorderedType.stride(of: type)
    if stride > 0, top.count > stride { sortElements(stride: stride) }
  }

  /// Whether the innermost value has encoded nothing and requested no container.
  var isEmpty: Bool { top.kind == .none || (top.kind == .single && top.count == 0) }

  @inline(__always)
  func close() {
    switch top.kind {
    case .none: writer.writeMapHead(count: 0)
    case .single: if top.count == 0 { writer.writeMapHead(count: 0) }
    case .unkeyed:
      if top.holeCount > 0 { fillArray() } else { patchHead(.array) }
    case .keyed:
      if !top.isSorted || top.holeCount > 0 { rebuildMap() } else { patchHead(.map) }
      entries.truncate(to: top.firstEntry)
    }
  }

  @inline(__always)
  private func patchHead(_ major: CBORMajorType) {
    if top.count < 24 {
      let start = top.start
      let head = major.rawValue << 5 | UInt8(truncatingIfNeeded: top.count)
      writer.withMutableBytes { bytes in
        bytes.baseAddress.unsafelyUnwrapped.storeBytes(of: head, toByteOffset: start, as: UInt8.self)
      }
    } else {
      widenHead(major)
    }
  }

  private func widenHead(_ major: CBORMajorType) {
    let count = UInt64(top.count)
    let start = top.start
    writer.insertGap(CBORWriter.headLength(count) - 1, at: start)
    writer.withMutableBytes { bytes in
      _ = CBORWriter.put(major, count, at: bytes.baseAddress.unsafelyUnwrapped + start)
    }
  }

  /// Completes this buffer's only value, a container without a known end.
  func finish() {
    close()
    top.serial = 0
  }

  var isFinished: Bool { top.serial == 0 }
}

extension CBOREncodingBuffer {
  func count(of serial: UInt64) -> Int { frame(serial)?.count ?? 0 }

  func path(of serial: UInt64) -> CBORCodingPath.Reference { frame(serial)?.path ?? CBORCodingPath.root }

  private func frame(_ serial: UInt64) -> CBOREncodingFrame? {
    if top.serial == serial { return top }
    for index in stride(from: frames.count - 1, through: 0, by: -1) where frames[index].serial == serial {
      return frames[index]
    }
    return nil
  }

  func beginNestedEntry(_ name: String) { beginEntry(name) }

  func beginNestedElement() { top.count += 1 }

  /// Records that the current entry's or element's value is in a separate buffer.
  func appendHole(_ hole: CBOREncodingHole) {
    if top.kind == .keyed { entries[entries.count - 1].hole = holes.count }
    holes.append(hole)
    top.holeCount += 1
  }

  func removeLastHole() -> CBOREncodingBuffer {
    top.holeCount -= 1
    return holes.removeLast().buffer
  }
}
