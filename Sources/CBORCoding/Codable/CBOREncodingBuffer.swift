import Foundation
import FoundationObjects

/// The bytes of a value being encoded and its nested values, in order. When a value ends, its container gets its head,
/// and a map with unsorted keys is sorted.
///
/// Containers without a known end, from `nestedContainer` and `superEncoder`, get a separate buffer, which is copied
/// into a reserved gap, a *hole*, when the enclosing value ends.
final class CBOREncodingBuffer {
  let session: CBOREncodingSession
  // Unchecked: accesses never overlap, and a check would cost as much as the access.
  @safe @exclusivity(unchecked) var writer = CBORWriter(capacity: 128)
  /// The innermost value being encoded.
  @safe @exclusivity(unchecked) var top = CBOREncodingFrame(
    serial: 0, path: CBORCodingPath.root, kind: .none, start: 0, firstEntry: 0)
  @safe @exclusivity(unchecked) private var frames = CBORStack<CBOREncodingFrame>(capacity: 4)
  @safe @exclusivity(unchecked) var entries = CBORStack<CBOREncodingEntry>(capacity: 8)
  @safe @exclusivity(unchecked) var holes: [CBOREncodingHole] = []
  /// Indexes in `entries` by key, for large maps of nested containers.
  @safe @exclusivity(unchecked) var names: [CBOREncodingName: Int] = [:]

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

  /// Sets the kind of the innermost value. Returns `false` if it has another one: classes may share a superclass's
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
  func beginEntry(_ name: String) {
    name.withUTF8Bytes { utf8 in
      if top.count > 0 { finishEntry(utf8) }
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
  private func finishEntry(_ utf8: CBORBytes) {
    let last = entries[entries.count &- 1]
    guard top.isSorted, utf8.count <= last.keyLength else { return }
    let key = writer.withBytes { bytes in bytes[last.keyStart..<last.keyStart &+ last.keyLength] }
    if key.order(utf8) >= 0 { top.isSorted = false }
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
      if top.holeCount > 0 { fillArray() } else { writer.setHead(.array, top.count, at: top.start) }
    case .keyed:
      if !top.isSorted || top.holeCount > 0 { rebuildMap() } else { writer.setHead(.map, top.count, at: top.start) }
      entries.truncate(to: top.firstEntry)
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

  /// Records that the current entry's or element's value is in a separate buffer.
  func appendHole(
    _ kind: CBOREncodingFrame.Kind, _ buffer: CBOREncodingBuffer
  ) -> (buffer: CBOREncodingBuffer, serial: UInt64) {
    if top.kind == .keyed { entries[entries.count - 1].hole = holes.count }
    let serial = buffer.top.serial
    holes.append(CBOREncodingHole(offset: writer.count, kind: kind, buffer: buffer, serial: serial))
    top.holeCount += 1
    return (buffer, serial)
  }

  func removeLastHole() -> CBOREncodingBuffer {
    top.holeCount -= 1
    return holes.removeLast().buffer
  }
}

extension CBOREncodingBuffer {
  /// The largest buffer kept for the next value, in bytes.
  static let largestSpare = 1 << 16

  private static let spares = CBORSpares<CBOREncodingBuffer>(limit: 8)

  /// A buffer with a new session, for the outermost value.
  static func take() -> CBOREncodingBuffer { spares.take() ?? CBOREncodingBuffer(CBOREncodingSession()) }

  /// Returns a buffer from ``take()``, unless an escaped container still holds it.
  static func end(_ buffer: inout CBOREncodingBuffer) {
    buffer.abandon()
    buffer.session.end()
    // Reused only without other references.
    if buffer.writer.capacity <= largestSpare, isKnownUniquelyReferenced(&buffer) { spares.put(buffer) }
  }

  func encodeRoot<T: Encodable>(_ value: T, _ options: CBOREncoder) throws {
    session.begin(options)
    begin(path: CBORCodingPath.root, .none)
    let leaf = CBORLeaf.of(T.self)
    if leaf != .none { return write(leaf, value) }
    try value.encode(to: CBORValueEncoder(buffer: self, serial: top.serial))
    if let failure = session.failure { throw error(failure, value) }
    guard !isEmpty else {
      throw EncodingError.invalidValue(
        value,
        .init(
          codingPath: [],
          debugDescription: "Top-level \(T.self) did not encode any values. Let its encode(to:) ask for a container."))
    }
    sortElements(of: T.self)
    finish()
  }
}

// Values written without their `Codable` conformance.

extension CBOREncodingBuffer {
  @inline(__always)
  func write<T>(_ leaf: CBORLeaf, _ value: T) {
    switch leaf {
    case .none: assertionFailure("The value is to be asked.")
    case .data: writer.writeBytes(cast(value, to: Data.self))
    case .date: CBORDateForm.write(cast(value, to: Date.self), to: &writer)
    case .url: write(cast(value, to: URL.self))
    case .uuid: writer.writeUUID(cast(value, to: UUID.self))
    case .decimal: CBORDecimalForm.write(cast(value, to: Decimal.self), to: &writer)
    case .string: writer.writeText(cast(value, to: String.self))
    case .bool: writer.writeBool(cast(value, to: Bool.self))
    case .double: writer.writeDouble(cast(value, to: Double.self))
    case .float: writer.writeFloat(cast(value, to: Float.self))
    case .int: writer.writeInteger(cast(value, to: Int.self))
    case .int8: writer.writeInteger(cast(value, to: Int8.self))
    case .int16: writer.writeInteger(cast(value, to: Int16.self))
    case .int32: writer.writeInteger(cast(value, to: Int32.self))
    case .int64: writer.writeInteger(cast(value, to: Int64.self))
    case .int128: writer.writeInteger(cast(value, to: Int128.self))
    case .uint: writer.writeInteger(cast(value, to: UInt.self))
    case .uint8: writer.writeInteger(cast(value, to: UInt8.self))
    case .uint16: writer.writeInteger(cast(value, to: UInt16.self))
    case .uint32: writer.writeInteger(cast(value, to: UInt32.self))
    case .uint64: writer.writeInteger(cast(value, to: UInt64.self))
    case .uint128: writer.writeInteger(cast(value, to: UInt128.self))
    case .stringArray: write(cast(value, to: [String].self))
    case .boolArray: write(cast(value, to: [Bool].self))
    case .doubleArray: write(cast(value, to: [Double].self))
    case .floatArray: write(cast(value, to: [Float].self))
    case .intArray: write(cast(value, to: [Int].self))
    case .int32Array: write(cast(value, to: [Int32].self))
    case .int64Array: write(cast(value, to: [Int64].self))
    case .uint8Array: write(cast(value, to: [UInt8].self))
    case .uint32Array: write(cast(value, to: [UInt32].self))
    case .uint64Array: write(cast(value, to: [UInt64].self))
    }
  }

  @inline(__always)
  private func cast<Source, Target>(_ value: Source, to type: Target.Type) -> Target {
    CBORLeaf.cast(value, to: type)
  }

  /// Writes tag 32, or `URL`'s own encoding for a URL with a base.
  private func write(_ url: URL) {
    if let base = url.baseURL {
      writer.writeMapHead(count: 2)
      writer.writeText("base")
      write(base)
      writer.writeText("relative")
      return writer.writeText(url.relativeString)
    }
    writer.writeTag(CBORTag.uri)
    writer.writeText(url.absoluteString)
  }

  @inline(__always)
  private func write<S: CBORScalar>(_ array: [S]) {
    writer.writeArrayHead(count: array.count)
    for element in array { element.writeItem(to: &writer) }
  }
}

/// A value being encoded, by the requests to its encoder.
struct CBOREncodingFrame: BitwiseCopyable {
  enum Kind: UInt8 {
    /// No container requested yet.
    case none
    case single, unkeyed, keyed
  }

  /// The serial of a refused container; no value has it.
  static let refused = UInt64.max

  /// Unique, so that a container can detect the end of its value. 0 means no value.
  var serial: UInt64
  var path: CBORCodingPath.Reference
  var kind: Kind
  /// Whether all keys so far are in order.
  var isSorted = true
  var holeCount: Int32 = 0
  /// Entries in the buffer's table of names.
  var namedCount: Int32 = 0
  var start: Int
  var count = 0
  /// The index of its first entry.
  var firstEntry: Int
}

/// An entry of a map being encoded. Its value ends where the next entry begins.
struct CBOREncodingEntry: BitwiseCopyable {
  var start: Int
  /// The length of the key's text, without its head.
  var keyLength: Int
  var end: Int
  /// The index of its hole; -1 if the value is in place.
  var hole: Int

  @inline(__always) var keyStart: Int { start &+ CBORWriter.headLength(UInt64(truncatingIfNeeded: keyLength)) }
}

/// State shared by all buffers of one ``CBOREncoder`` call.
final class CBOREncodingSession {
  // Unchecked: accesses never overlap, and a check would cost as much as the access.
  @safe @exclusivity(unchecked) private(set) var userInfo: [CodingUserInfoKey: Any] = [:]
  @safe @exclusivity(unchecked) var path = CBORCodingPath()
  @safe @exclusivity(unchecked) var nesting = Nesting(maximumDepth: 0)
  /// A failure where throwing was impossible; the next throwing call reports it.
  @safe @exclusivity(unchecked) var failure: Failure?
  @safe @exclusivity(unchecked) var scratch = CBORWriter()
  @safe @exclusivity(unchecked) private var lastSerial: UInt64 = 0
  @safe @exclusivity(unchecked) private var spareBuffers: [CBOREncodingBuffer] = []

  struct Failure {
    let path: [any CodingKey]
    let description: String
  }

  func begin(_ options: CBOREncoder) {
    if !options.userInfo.isEmpty { userInfo = options.userInfo }
    nesting = Nesting(maximumDepth: options.maximumDepth)
  }

  @inline(__always)
  func nextSerial() -> UInt64 {
    lastSerial &+= 1
    return lastSerial
  }

  /// An empty buffer for a nested container.
  func buffer(path: CBORCodingPath.Reference, _ kind: CBOREncodingFrame.Kind) -> CBOREncodingBuffer {
    let buffer = spareBuffers.popLast() ?? CBOREncodingBuffer(self)
    buffer.begin(path: path, kind)
    return buffer
  }

  /// Reuses a buffer after its bytes were copied.
  func recycle(_ buffer: CBOREncodingBuffer) {
    if spareBuffers.count < 4 { spareBuffers.append(buffer) }
  }

  /// Releases everything that the next value does not need.
  func end() {
    // Each of them retains this session.
    if !spareBuffers.isEmpty { spareBuffers = [] }
    if failure != nil { failure = nil }
    if !userInfo.isEmpty { userInfo = [:] }
    path.removeAll()
    if scratch.capacity > CBOREncodingBuffer.largestSpare { scratch = CBORWriter(capacity: 0) }
  }

  func fail(_ description: String, at path: [any CodingKey]) {
    if failure == nil { failure = Failure(path: path, description: description) }
  }
}
