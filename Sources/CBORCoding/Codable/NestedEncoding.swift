import Foundation
import FoundationObjects

// Nested containers and encoders, whose end is unknown.

extension CBOREncodingBuffer {
  /// A container (or an encoder, with `.none`) for a key's value. Continues an earlier value of the same kind. An
  /// encoder for a superclass starts empty.
  func nested(
    _ kind: CBOREncodingFrame.Kind, forKey key: some CodingKey, _ serial: UInt64
  ) -> (buffer: CBOREncodingBuffer, serial: UInt64) {
    guard serial == top.serial else { return refuseNested(serial, key) }
    let name = key.stringValue
    let earlier = entry(named: name)
    if let earlier, entries[earlier].hole >= 0 {
      let hole = holes[entries[earlier].hole]
      if hole.kind == kind { return (hole.buffer, hole.serial) }
    }
    let path = session.path.push(copying: key, under: top.path)
    if let failure = session.nesting.check(session.path.depth(of: path)) { return refuseDepth(path, failure) }
    let buffer = session.buffer(path: path, kind)
    if kind != .none, let earlier, !copyValue(of: earlier, to: buffer) { return refuseKind(kind, serial, key) }
    beginEntry(name)
    return appendHole(kind, buffer)
  }

  /// A container (or an encoder, with `.none`) for the next array element.
  func nestedElement(
    _ kind: CBOREncodingFrame.Kind, _ serial: UInt64
  ) -> (buffer: CBOREncodingBuffer, serial: UInt64) {
    guard serial == top.serial else { return refuseNested(serial, CBORCodingKey(index: 0)) }
    let path = session.path.push(copying: CBORCodingKey(index: top.count), under: top.path)
    if let failure = session.nesting.check(session.path.depth(of: path)) { return refuseDepth(path, failure) }
    if top.holeCount > 0 { fillLastHole() }
    top.count += 1
    return appendHole(kind, session.buffer(path: path, kind))
  }

  // MARK: What was encoded for a key

  /// A key's last entry in the innermost value.
  private func entry(named name: String) -> Int? {
    let first = top.firstEntry
    guard entries.count > first else { return nil }
    return name.withUTF8Bytes { utf8 in
      // Common case: the key sorts after all others.
      if top.isSorted, utf8.order(bytes(ofKeyAt: entries.count - 1)) > 0 { return nil }
      if entries.count - first <= 16 { return (first..<entries.count).last { utf8.order(bytes(ofKeyAt: $0)) == 0 } }
      for index in first + Int(top.namedCount)..<entries.count {
        names[CBOREncodingName(owner: top.serial, utf8: bytes(ofKeyAt: index).array)] = index
      }
      top.namedCount = Int32(entries.count - first)
      // After an error the entry may be gone and its index reused.
      guard let found = names[CBOREncodingName(owner: top.serial, utf8: utf8.array)],
        (first..<entries.count).contains(found), utf8.order(bytes(ofKeyAt: found)) == 0
      else { return nil }
      return found
    }
  }

  private func bytes(ofKeyAt index: Int) -> CBORBytes {
    let entry = entries[index]
    return writer.withBytes { $0[entry.keyStart..<entry.keyStart + entry.keyLength] }
  }

  /// Copies an entry's value into an empty container. Returns `false` for another kind.
  private func copyValue(of index: Int, to other: CBOREncodingBuffer) -> Bool {
    guard entries[index].hole < 0 else { return false }
    let start = entries[index].keyStart + entries[index].keyLength
    let end = index + 1 < entries.count ? entries[index + 1].start : writer.count
    return writer.withBytes { bytes in other.appendContents(of: bytes[start..<end]) }
  }

  private func appendContents(of value: CBORBytes) -> Bool {
    var reader = CBORReader(value, maximumDepth: .max)
    do throws(CBORError) {
      let head = try reader.peekHead()
      switch (top.kind, head.major) {
      case (.unkeyed, .array):
        top.count = try reader.readArrayHead() ?? 0
        writer.append(value[reader.offset...])
      case (.keyed, .map):
        for _ in 0..<(try reader.readMapHead() ?? 0) {
          let start = reader.offset
          guard let key = try reader.readDefinite(.text) else { return false }
          try reader.skip()
          appendEntry(keyLength: key.count)
          writer.append(value[start..<reader.offset])
        }
      default: return false
      }
      return true
    } catch {
      return false
    }
  }

  // MARK: Filling

  /// Moves an array's last element into place if its container is no longer referenced, so that the rows of a table
  /// share one buffer.
  func fillLastHole() {
    let last = holes.count - 1
    guard holes[last].offset == writer.count, isKnownUniquelyReferenced(&holes[last].buffer) else { return }
    finish([holes[last].buffer])
    let buffer = removeLastHole()
    buffer.writer.withBytes { bytes in writer.append(bytes) }
    session.recycle(buffer)
  }

  /// Rewrites the array with the contents of its holes.
  func fillArray() {
    let firstHole = finishHoles()
    let count = top.count
    let start = top.start
    session.scratch.removeAll()
    session.scratch.writeArrayHead(count: count)
    writer.withBytes { bytes in
      // After the byte reserved for the head.
      var position = start + 1
      for hole in holes[firstHole...] {
        session.scratch.append(bytes[position..<hole.offset])
        hole.buffer.writer.withBytes { bytes in session.scratch.append(bytes) }
        position = hole.offset
      }
      session.scratch.append(bytes[position...])
    }
    replace(from: start, firstHole)
  }

  /// Rewrites the map in key order with the contents of its holes.
  ///
  /// The last entry of each key wins, as in `JSONEncoder`.
  func rebuildMap() {
    let firstHole = finishHoles()
    let firstEntry = top.firstEntry
    let start = top.start
    let count = writer.withBytes { bytes in
      for index in firstEntry..<entries.count {
        entries[index].end = index + 1 < entries.count ? entries[index + 1].start : bytes.count
      }
      entries.sort(from: firstEntry) { CBOREncodingEntry.precedes($0, $1, bytes) }
      return CBOREncodingEntry.removeDuplicates(from: &entries, firstEntry, bytes)
    }
    session.scratch.removeAll()
    session.scratch.writeMapHead(count: count)
    writer.withBytes { bytes in
      for index in firstEntry..<firstEntry + count {
        let entry = entries[index]
        session.scratch.append(bytes[entry.start..<entry.end])
        if entry.hole >= 0 {
          holes[entry.hole].buffer.writer.withBytes { bytes in session.scratch.append(bytes) }
        }
      }
    }
    replace(from: start, firstHole)
  }

  /// Sorts the elements of a set, or of a dictionary encoded as alternating keys and values.
  ///
  /// - Parameter stride: Items per element; the first is the sort key.
  func sortElements(stride: Int) {
    let start = top.start + 1
    var ranges: [Range<Int>] = []
    ranges.reserveCapacity(top.count / stride)
    session.scratch.removeAll()
    let isSorted = writer.withBytes { bytes in
      var reader = CBORReader(bytes, at: start, maximumDepth: .max)
      do throws(CBORError) {
        while !reader.isAtEnd {
          let begin = reader.offset
          for _ in 0..<stride { try reader.skip() }
          ranges.append(begin..<reader.offset)
        }
      } catch {
        assertionFailure("The encoder wrote this: \(error)")
        return false
      }
      // No encoded item is a prefix of another. Equal keys are sorted by their values.
      ranges.sort { bytes.order($0.lowerBound, $1.lowerBound, count: min($0.count, $1.count)) < 0 }
      for range in ranges { session.scratch.append(bytes[range]) }
      return true
    }
    guard isSorted else { return }
    writer.truncate(to: start)
    session.scratch.withBytes { bytes in writer.append(bytes) }
  }

  /// Completes the containers in the innermost value's holes. Returns its first hole.
  private func finishHoles() -> Int {
    let first = holes.count - Int(top.holeCount)
    finish(holes[first...].map(\.buffer))
    return first
  }

  private func finish(_ outermost: [CBOREncodingBuffer]) {
    // Inner containers first. A list instead of recursion: nesting may exceed the stack.
    var buffers = outermost
    var index = 0
    while index < buffers.count {
      buffers.append(contentsOf: buffers[index].holes.map(\.buffer))
      index += 1
    }
    for buffer in buffers.reversed() where !buffer.isFinished { buffer.finish() }
  }

  private func replace(from start: Int, _ firstHole: Int) {
    writer.truncate(to: start)
    session.scratch.withBytes { bytes in writer.append(bytes) }
    guard firstHole < holes.count else { return }
    for hole in holes[firstHole...] { session.recycle(hole.buffer) }
    holes.removeLast(holes.count - firstHole)
    if holes.isEmpty, !names.isEmpty { names.removeAll(keepingCapacity: true) }
  }
}

extension CBOREncodingEntry {
  @inline(__always)
  private static func order(_ a: CBOREncodingEntry, _ b: CBOREncodingEntry, _ bytes: CBORBytes) -> Int {
    if a.keyLength != b.keyLength { return a.keyLength &- b.keyLength }
    return bytes.order(a.keyStart, b.keyStart, count: a.keyLength)
  }

  /// Equal keys keep the order of writing.
  @inline(__always)
  static func precedes(_ a: CBOREncodingEntry, _ b: CBOREncodingEntry, _ bytes: CBORBytes) -> Bool {
    let order = order(a, b, bytes)
    return order < 0 || (order == 0 && a.start < b.start)
  }

  /// Moves the last entry of each key to the front. Returns how many remain.
  static func removeDuplicates(
    from list: inout CBORStack<CBOREncodingEntry>, _ first: Int, _ bytes: CBORBytes
  ) -> Int {
    guard first < list.count else { return 0 }
    var kept = first
    for index in first + 1..<list.count {
      if order(list[kept], list[index], bytes) != 0 { kept += 1 }
      list[kept] = list[index]
    }
    return kept + 1 - first
  }
}

/// A gap in a buffer for a container with a separate buffer.
struct CBOREncodingHole {
  let offset: Int
  let kind: CBOREncodingFrame.Kind
  var buffer: CBOREncodingBuffer
  let serial: UInt64
}

/// An entry's key in a value being encoded. Compared by bytes: strings that are equal in Swift can be two keys.
struct CBOREncodingName: Hashable {
  /// The serial of the value.
  let owner: UInt64
  let utf8: [UInt8]
}

// Errors with a coding path.

extension CBOREncodingBuffer {
  func codingPath(_ serial: UInt64) -> [any CodingKey] { session.path.keys(to: path(of: serial)) }

  func error(_ failure: CBOREncodingSession.Failure, _ value: Any) -> EncodingError {
    session.failure = nil
    return .invalidValue(value, .init(codingPath: failure.path, debugDescription: failure.description))
  }

  func depthError(
    _ value: Any, _ path: CBORCodingPath.Reference, _ failure: Nesting.Failure
  ) -> EncodingError {
    .invalidValue(value, .init(codingPath: session.path.keys(to: path), debugDescription: depthDescription(failure)))
  }

  private func depthDescription(_ failure: Nesting.Failure) -> String {
    """
    \(session.nesting.description(failure)). Is there a cycle of references? If there is none, raise maximumDepth, or \
    encode on a thread with a larger stack.
    """
  }

  /// The error for using a container after its value has ended.
  func staleError(_ serial: UInt64, _ key: any CodingKey) -> EncodingError {
    let failure = session.failure
    session.failure = nil
    return .invalidValue(
      key,
      .init(
        codingPath: failure?.path ?? codingPath(serial) + [key],
        debugDescription: failure?.description ?? staleDescription))
  }

  private var staleDescription: String {
    """
    A container was written to after the value it belongs to, or while a value within it was being encoded. Write to \
    a container only in the encode(to:) that asked for it, and between the values that it encodes.
    """
  }

  func staleSingleError(_ serial: UInt64) -> EncodingError {
    guard serial == top.serial else { return staleError(serial, CBORCodingKey(stringValue: "value")) }
    return .invalidValue(
      serial,
      .init(
        codingPath: codingPath(serial),
        debugDescription: "A single value container was given two values. Use an unkeyed container for several."))
  }

  func refuseContainer(_ kind: CBOREncodingFrame.Kind, _ serial: UInt64) -> UInt64 {
    let description =
      serial == top.serial
      ? """
      A value asked for a \(kind) container after it had asked for a \(top.kind) one. It can be encoded as one of \
      them only; a superclass gets an encoder of its own from superEncoder().
      """
      : staleDescription
    session.fail(description, at: codingPath(serial))
    return CBOREncodingFrame.refused
  }

  private typealias Container = (buffer: CBOREncodingBuffer, serial: UInt64)

  private func refuse(_ description: String, at path: [any CodingKey]) -> Container {
    session.fail(description, at: path)
    return (self, CBOREncodingFrame.refused)
  }

  private func refuseNested(_ serial: UInt64, _ key: any CodingKey) -> Container {
    refuse(staleDescription, at: codingPath(serial) + [key])
  }

  private func refuseKind(_ kind: CBOREncodingFrame.Kind, _ serial: UInt64, _ key: any CodingKey) -> Container {
    refuse(
      "The key \"\(key.stringValue)\" has a value already, which is no \(kind) container. Encode one value for each key.",
      at: codingPath(serial) + [key])
  }

  private func refuseDepth(_ path: CBORCodingPath.Reference, _ failure: Nesting.Failure) -> Container {
    refuse(depthDescription(failure), at: session.path.keys(to: path))
  }
}
