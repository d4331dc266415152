#if !canImport(Darwin)
  import Foundation
  import FoundationObjects

  extension CBORKeyedUnarchiver {
    // MARK: Finding a field of the object that is being read

    /// The offset of a key's value; `nil` if it is missing or reading has failed.
    @inline(__always)
    func locate(_ key: String) -> Int? {
      key.withUTF8Bytes { utf8 in
        guard isReading else { return nil }
        if fields.left > 0, utf8.count < 24, fields.next &+ utf8.count < bytes.count {
          let (start, end) = (fields.next &+ 1, fields.next &+ 1 &+ utf8.count)
          if bytes[fields.next] == 0x60 | UInt8(truncatingIfNeeded: utf8.count), bytes[start..<end].order(utf8) == 0 {
            fields.isInOrder = true
            return end
          }
        }
        var encoded = CBORWriter(capacity: utf8.count + CBORWriter.longestHead)
        encoded.writeText(utf8: utf8)
        return encoded.withBytes { locate(encoded: $0) }
      }
    }

    /// The offset of the next value without a key.
    private func locateNext() -> Int? {
      guard isReading else { return nil }
      var encoded = CBORWriter(capacity: CBORWriter.longestHead)
      encoded.writeInteger(fields.unkeyed)
      guard let found = encoded.withBytes({ locate(encoded: $0) }) else {
        fail(
          "A value without a key was asked for, and there are only \(fields.unkeyed)", .decodingFailed, at: fields.start
        )
        return nil
      }
      fields.unkeyed += 1
      return found
    }

    private func locate(encoded key: CBORBytes) -> Int? {
      guard fields.count > 0 else { return nil }
      if fields.left > 0, fields.index == nil, key.count <= bytes.count - fields.next,
        bytes[fields.next..<fields.next + key.count].order(key) == 0
      {
        fields.isInOrder = true
        return fields.next + key.count
      }
      fields.isInOrder = false
      if fields.index == nil {
        do {
          fields.index = try FieldIndex(bytes, start: fields.start, count: fields.count)
        } catch {
          fail(error)
          return nil
        }
      }
      return fields.index?.value(forKey: key)
    }

    /// Marks the last found field as read up to `end`.
    @inline(__always)
    private func finishField(_ isInOrder: Bool, end: Int) {
      guard isInOrder else { return }
      fields.next = end
      fields.left &-= 1
    }

    /// The offset after the current object's last field.
    @inline(__always)
    func endOfFields() throws(CBORError) -> Int {
      if fields.left == 0 { return fields.next }
      if let index = fields.index { return index.end }
      var reader = CBORReader(bytes, at: fields.next)
      try reader.skipChecked(2 * fields.left)
      return reader.offset
    }

    /// Reads the last found field with `body`, whose reader starts at its value.
    @inline(__always)
    private func readField<R>(
      at offset: Int, or fallback: R, _ body: (inout CBORReader) throws(CBORCodingError) -> R
    ) -> R {
      let isInOrder = fields.isInOrder
      var reader = CBORReader(bytes, at: offset)
      do {
        let value = try body(&reader)
        if let failure { throw failure }
        finishField(isInOrder, end: reader.offset)
        return value
      } catch {
        if failure == nil { failure = error }
        return fallback
      }
    }

    // MARK: Values

    @inline(__always)
    func integer<I: FixedWidthInteger>(forKey key: String, _ type: I.Type, atMost limit: I = I.max) -> I {
      guard let offset = locate(key) else { return 0 }
      return readField(at: offset, or: 0) { (reader) throws(CBORCodingError) in
        let value: I = try readInteger(&reader)
        guard value <= limit else { throw mismatch("a boolean", at: offset) }
        return value
      }
    }

    @inline(__always)
    func number(forKey key: String) -> Double {
      guard let offset = locate(key) else { return 0 }
      return readField(at: offset, or: 0) { (reader) throws(CBORCodingError) in try readNumber(&reader) }
    }

    /// Returns an array of integers, or `nil` if the key is missing.
    func integers(forKey key: String) -> [Int]? {
      guard let offset = locate(key) else { return nil }
      return readField(at: offset, or: nil) { (reader) throws(CBORCodingError) in
        let count = try arrayCount(&reader)
        var all: [Int] = []
        all.reserveCapacity(count)
        for _ in 0..<count { all.append(try readInteger(&reader)) }
        return all
      }
    }

    func byteString(forKey key: String) -> CBORBytes? {
      guard let offset = locate(key) else { return nil }
      return readField(at: offset, or: nil) { (reader) throws(CBORCodingError) in
        do {
          if try reader.readTag() != CBORTag.shared { reader.move(to: offset) }
          if try reader.readNil() { return nil }
          return try reader.readDefinite(.bytes)
        } catch {
          throw mismatch("bytes", at: offset)
        }
      }
    }

    /// - Parameter classes: The allowed classes; `nil` for the current ones.
    @inline(__always)
    func value(forKey key: String, of classes: AllowedClasses?) -> AnyObject? {
      guard let offset = locate(key) else { return nil }
      return value(at: offset, of: classes)
    }

    func nextValue(of classes: AllowedClasses?) -> AnyObject? {
      guard let offset = locateNext() else { return nil }
      return value(at: offset, of: classes)
    }

    @inline(__always)
    func value(at offset: Int, of classes: AllowedClasses?) -> AnyObject? {
      readField(at: offset, or: nil) { (reader) throws(CBORCodingError) in
        guard let classes else { return try readItem(&reader, isElement: false) }
        let outer = allowed
        allowed = classes
        defer { allowed = outer }
        return try readItem(&reader, isElement: false)
      }
    }

    /// Decodes a value of an Objective-C type into initialized memory.
    func readNext(_ type: ObjCType?, at address: UnsafeMutableRawPointer) {
      guard let type else {
        return fail("Values of that Objective-C type cannot be decoded", .decodingFailed, at: fields.start)
      }
      guard let offset = locateNext() else { return }
      readField(at: offset, or: ()) { (reader) throws(CBORCodingError) in try unsafe read(type, &reader, to: address) }
    }

    func decodeValue(forKey key: String, whenDecoded completion: @escaping (Any?) -> Void) {
      guard let offset = locate(key) else { return completion(nil) }
      if let number = unreadReference(at: offset) {
        let isInOrder = fields.isInOrder
        let classes = allowed
        shared.values[number].waiting.append { [self] object in
          guard !requiresSecureCoding || classes.contains(type(of: object)) else {
            return fail(
              "An object of class \(ClassDescription.name(of: type(of: object))) is not allowed", .classNotAllowed,
              at: offset)
          }
          completion(object)
        }
        var reader = CBORReader(bytes, at: offset)
        do { try reader.skipChecked() } catch { return fail(error) }
        return finishField(isInOrder, end: reader.offset)
      }
      let object = value(at: offset, of: nil)
      if isReading { completion(object) }
    }

    // MARK: The root

    package func root(of classes: [AnyClass]) throws -> Any? {
      guard locate(NSKeyedArchiveRootObjectKey) != nil || failure != nil else {
        throw CBORCodingError(.malformed, "The archive has no root object.")
      }
      let object = value(forKey: NSKeyedArchiveRootObjectKey, of: AllowedClasses(classes))
      if let failure { throw failure }
      return object
    }

    // MARK: Errors

    func fail(_ message: String, _ code: CBORCodingError.Code, at offset: Int) {
      if failure == nil { failure = corrupt(message, code, at: offset) }
    }

    func fail(_ error: CBORError) { if failure == nil { failure = damaged(error) } }

    func failForClass(of object: AnyObject, _ expected: AnyClass, at offset: Int) {
      fail(
        """
        An object of class \(ClassDescription.name(of: type(of: object))) was found where one of class \
        \(ClassDescription.name(of: expected)) was expected
        """, .typeMismatch, at: offset)
    }

    func corrupt(
      _ message: String, _ code: CBORCodingError.Code = .malformed, at offset: Int
    ) -> CBORCodingError {
      CBORCodingError(code, "\(message) (\(ArchivePath.description(of: offset, in: bytes)), byte \(offset)).")
    }

    func mismatch(_ expected: String, at offset: Int) -> CBORCodingError {
      var reader = CBORReader(bytes, at: min(offset, bytes.count))
      let found = (try? reader.readHead().typeDescription) ?? "the end"
      return corrupt("There is \(found) where \(expected) was asked for", .typeMismatch, at: offset)
    }
  }

  /// The reading position in the fields of one object or the top level. The first one read out of order builds an
  /// index.
  struct FieldCursor {
    let start: Int
    let count: Int
    /// The key after the last field read in order.
    var next: Int
    /// Fields left from `next`.
    var left: Int
    /// The number of the next value without a key.
    var unkeyed = 0
    /// Whether the last found field is at `next`.
    var isInOrder = false
    var index: FieldIndex?

    init(start: Int, count: Int) {
      self.start = start
      self.count = count
      next = start
      left = count
    }
  }

  final class FieldIndex {
    /// The offset after the last field.
    let end: Int
    private var fields: ContiguousArray<(key: CBORBytes, value: Int)> = []
    /// Field numbers by key, if there are many.
    private var numbers = KeyIndex<Int>()
    /// The field after the last found one.
    private var expected = 0
    private static let few = 16

    init(_ bytes: CBORBytes, start: Int, count: Int) throws(CBORError) {
      var reader = CBORReader(bytes, at: start)
      fields.reserveCapacity(count)
      for _ in 0..<count {
        let key = reader.offset
        try reader.skipChecked()
        fields.append((bytes[key..<reader.offset], reader.offset))
        try reader.skipChecked()
      }
      end = reader.offset
      guard count > Self.few else { return }
      for (number, field) in fields.enumerated() { numbers.append(field.key, number) }
      numbers.sort()
    }

    /// The offset of the value with an encoded key.
    func value(forKey key: CBORBytes) -> Int? {
      let found =
        if expected < fields.count, fields[expected].key.order(key) == 0 {
          expected
        } else if fields.count > Self.few {
          numbers.value(key)
        } else {
          fields.firstIndex { $0.key.order(key) == 0 }
        }
      guard let found else { return nil }
      expected = found + 1
      return fields[found].value
    }
  }
#endif
