import Foundation
import FoundationObjects

// Containers and encoders within a container, which nobody tells when they are done with.

extension CBOREncodingBuffer {
  /// A container, or with `.none` an encoder, for the value of a key.
  ///
  /// The same one if it is asked for again, as with `JSONEncoder`.
  func nested(
    _ kind: CBOREncodingFrame.Kind, forKey key: some CodingKey, _ serial: UInt64
  ) -> (buffer: CBOREncodingBuffer, serial: UInt64) {
    guard serial == top.serial else { return refuseNested(serial, key) }
    let name = key.stringValue
    if let hole = hole(named: name), hole.kind == kind { return (hole.buffer, hole.serial) }
    let path = session.path.push(copying: key, under: top.path)
    if let failure = session.nesting.check(session.path.depth(of: path)) { return refuseDepth(path, failure) }
    beginNestedEntry(name)
    let buffer = session.buffer(path: path, kind)
    append(
      CBOREncodingHole(
        owner: serial, offset: writer.count, name: name, kind: kind, buffer: buffer, serial: buffer.top.serial))
    return (buffer, buffer.top.serial)
  }

  /// A container, or with `.none` an encoder, for the next element of the array.
  func nestedElement(
    _ kind: CBOREncodingFrame.Kind, _ serial: UInt64
  ) -> (buffer: CBOREncodingBuffer, serial: UInt64) {
    guard serial == top.serial else { return refuseNested(serial, CBORCodingKey(index: 0)) }
    let path = session.path.push(copying: CBORCodingKey(index: top.count), under: top.path)
    if let failure = session.nesting.check(session.path.depth(of: path)) { return refuseDepth(path, failure) }
    if top.holeCount > 0 { fillLastHole() }
    beginNestedElement()
    let buffer = session.buffer(path: path, kind)
    append(
      CBOREncodingHole(
        owner: serial, offset: writer.count, name: nil, kind: kind, buffer: buffer, serial: buffer.top.serial))
    return (buffer, buffer.top.serial)
  }

  private func append(_ hole: CBOREncodingHole) {
    appendHole(hole)
    if top.holeCount > 1 { remember(holes.count - 1) }
  }

  /// The container of this key, if there is one in the innermost value.
  private func hole(named name: String) -> CBOREncodingHole? {
    // The common case is an enumeration's, which has one only.
    guard top.holeCount > 0 else { return nil }
    if top.holeCount == 1 { remember(holes.count - 1) }
    guard let index = holeNames[CBOREncodingHole.Name(top.serial, name)], index < holes.count else { return nil }
    // The place may have been given up, after an error, and taken by another.
    guard holes[index].owner == top.serial, let found = holes[index].name, found.utf8.elementsEqual(name.utf8)
    else { return nil }
    return holes[index]
  }

  private func remember(_ index: Int) {
    guard let name = holes[index].name else { return }
    holeNames[CBOREncodingHole.Name(holes[index].owner, name)] = index
  }

  // MARK: Filling

  /// Copies the last element of an array into its place, if it is a container which nobody holds any more: so the
  /// rows of a table, say, need one buffer and not one for each.
  func fillLastHole() {
    let last = holes.count - 1
    guard holes[last].offset == writer.count, isKnownUniquelyReferenced(&holes[last].buffer) else { return }
    finish([holes[last].buffer])
    let buffer = removeLastHole()
    buffer.writer.withBytes { bytes in writer.append(bytes) }
    session.recycle(buffer)
  }

  /// Writes the array anew, with what its holes hold.
  func fillArray() {
    let firstHole = finishHoles()
    let count = top.count
    let start = top.start
    session.scratch.removeAll()
    session.scratch.writeArrayHead(count: count)
    writer.withBytes { bytes in
      // Behind the byte that was kept free for the head.
      var position = start + 1
      for hole in holes[firstHole...] {
        session.scratch.append(UnsafeRawBufferPointer(rebasing: bytes[position..<hole.offset]))
        hole.buffer.writer.withBytes { bytes in session.scratch.append(bytes) }
        position = hole.offset
      }
      session.scratch.append(UnsafeRawBufferPointer(rebasing: bytes[position...]))
    }
    replace(from: start, firstHole)
  }

  /// Writes the map anew, with its entries in the order of their keys and with what its holes hold.
  ///
  /// Of entries with the same key the last one stays, as with `JSONEncoder`.
  func rebuildMap() {
    let firstHole = finishHoles()
    let firstEntry = top.firstEntry
    let start = top.start
    let count = writer.withBytes { bytes in
      let base = bytes.baseAddress.unsafelyUnwrapped
      let end = bytes.count
      return entries.withElements(from: firstEntry) { list in
        for index in list.indices { list[index].end = index + 1 < list.count ? list[index + 1].start : end }
        CBOREncodingEntry.sort(list, base)
        return CBOREncodingEntry.removeDuplicates(from: list, base)
      }
    }
    session.scratch.removeAll()
    session.scratch.writeMapHead(count: count)
    writer.withBytes { bytes in
      for index in firstEntry..<firstEntry + count {
        let entry = entries[index]
        session.scratch.append(UnsafeRawBufferPointer(rebasing: bytes[entry.start..<entry.end]))
        if entry.hole >= 0 {
          holes[entry.hole].buffer.writer.withBytes { bytes in session.scratch.append(bytes) }
        }
      }
    }
    replace(from: start, firstHole)
  }

  /// Completes the containers in the holes of the innermost value; the first of its holes.
  private func finishHoles() -> Int {
    let first = holes.count - Int(top.holeCount)
    finish(holes[first...].map(\.buffer))
    return first
  }

  private func finish(_ outermost: [CBOREncodingBuffer]) {
    // Those within them before them, in a list and not by recursion: they may be nested deeper than the stack holds.
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
    if holes.isEmpty { holeNames.removeAll(keepingCapacity: true) }
  }
}

extension CBOREncodingEntry {
  /// By the bytes of the encoded keys: a shorter text comes first, since its head is smaller.
  @inline(__always)
  private static func order(_ a: CBOREncodingEntry, _ b: CBOREncodingEntry, _ base: UnsafeRawPointer) -> Int {
    if a.keyLength != b.keyLength { return a.keyLength < b.keyLength ? -1 : 1 }
    return Int(memcmp(base + a.keyStart, base + b.keyStart, a.keyLength))
  }

  /// Of the same key, in the order in which they were written.
  @inline(__always)
  private static func precedes(_ a: CBOREncodingEntry, _ b: CBOREncodingEntry, _ base: UnsafeRawPointer) -> Bool {
    let order = order(a, b, base)
    return order < 0 || (order == 0 && a.start < b.start)
  }

  static func sort(_ list: UnsafeMutableBufferPointer<CBOREncodingEntry>, _ base: UnsafeRawPointer) {
    guard list.count <= 20 else {
      var list = list
      return list.sort { precedes($0, $1, base) }
    }
    var sorted = 1
    while sorted < list.count {
      let entry = list[sorted]
      var position = sorted
      while position > 0, precedes(entry, list[position - 1], base) {
        list[position] = list[position - 1]
        position -= 1
      }
      list[position] = entry
      sorted += 1
    }
  }

  /// Keeps the last of those with the same key; how many are left, in front.
  static func removeDuplicates(
    from list: UnsafeMutableBufferPointer<CBOREncodingEntry>, _ base: UnsafeRawPointer
  ) -> Int {
    guard var kept = list.indices.first else { return 0 }
    for index in 1..<list.count {
      if order(list[kept], list[index], base) != 0 { kept += 1 }
      list[kept] = list[index]
    }
    return kept + 1
  }
}
