#if !canImport(Darwin)
  import Foundation
  import FoundationObjects

  extension CBORKeyedArchiver {
    /// Writes any value as one item; a failure ends the archive.
    func write(_ value: Any?) {
      guard let value else { return writer.writeUndefined() }
      write(value, ClassTable.record(of: type(of: value)))
    }

    @inline(__always)
    private func write(_ value: Any, _ record: ClassRecord.Reference) {
      if record.value.form.rawValue >= ValueForm.string.rawValue {
        return writeObject(payload(of: value, as: AnyObject.self), record)
      }
      guard record.value.form == .swiftOther else { return Self.writePlain(value, record, to: &writer) }
      if let elements = record.value.elements {
        let array = ClassTable.record(of: NSArray.self)
        guard enter(array) else { return }
        elements.write(value, to: self)
        return leave()
      }
      let object = value as AnyObject
      let bridged = ClassTable.record(of: type(of: object))
      guard bridged.value.form != .unsupported, bridged.value.form != .foundationCluster || object is any NSCoding
      else { return fail("A value of type \(type(of: value)) is no object that can be archived.") }
      // Just created: nothing else refers to it.
      write(object, bridged, withIdentity: false)
    }

    /// Writes an object on first sight, and a reference to it later.
    @inline(__always)
    func writeObject(_ object: AnyObject, _ record: ClassRecord.Reference) {
      write(object, record, withIdentity: record.value.form.hasIdentity)
    }

    private func write(_ object: AnyObject, _ record: ClassRecord.Reference, withIdentity: Bool) {
      if isRehearsal, record.value.hashing == .fatal {
        return fail(
          """
          NSKeyedArchiver on Linux ends the process for an object of class \(ClassDescription.name(of: record)). Encode \
          what it holds, such as the text of a decimal number, or in a cache archive objects as \
          ObjectCoding.Archiving.cbor.
          """)
      }
      switch record.value.form {
      case .string: return writeString(object as! NSString, object)
      case .number: return writer.writeNumber(object as! NSNumber)
      case .boolean: return writer.writeBool((object as! NSNumber).boolValue)
      case .data: return writeData(object as! NSData, object)
      case .date: return writer.writeDate((object as! NSDate).timeIntervalSinceReferenceDate)
      case .uuid: return writer.writeUUID((object as! NSUUID) as UUID)
      case .null: return writer.writeNull()
      case .url: return writeURL(object as! NSURL)
      case .decimalNumber: return writer.writeDecimal((object as! NSDecimalNumber).decimalValue)
      case .foundationCluster: return writeClusterMember(object, record)
      case .unsupported: return fail("The class \(ClassDescription.name(of: record)) does not conform to NSCoding.")
      case .object: return writeCoded(object, record)
      default:
        guard withIdentity else {
          guard enter(record) else { return }
          writeContents(of: object, record)
          return leave()
        }
        guard let entry = firstEntry(of: object) else { return }
        let outer = depth.begin()
        guard enter(record) else { return }
        writeContents(of: object, record)
        leave()
        identities.setLevels(depth.end(outer), of: entry)
      }
    }

    /// Whether a leaf object is new; writes a reference otherwise.
    @inline(__always)
    func isFirst(_ object: AnyObject) -> Bool { firstEntry(of: object) != nil }

    /// The entry of a new object; writes a reference and returns `nil` otherwise.
    @inline(__always)
    private func firstEntry(of object: AnyObject) -> Int? {
      guard let entry = identities.find(object) else { return identities.add(object, offset: writer.count) }
      if identities.entries[entry].offset < 0 {
        identities.setOffset(writer.count, of: entry)
        return entry
      }
      refer(to: entry)
      return nil
    }

    private func refer(to entry: Int) {
      guard depth.refer(levels: Int(identities.entries[entry].levels)) else {
        return fail(
          "References lead deeper than \(GraphDepth.maximum) levels; a linked list is better archived as an array.")
      }
      identities.refer(to: entry)
      buffers.references.append(ObjectReference(offset: writer.count, entry: entry))
      writer.writeUndefined()
    }

    /// Writes a reference that is nil unless the object is encoded elsewhere.
    func writeConditionally(_ value: Any?) {
      guard let value else { return writer.writeUndefined() }
      let record = ClassTable.record(of: type(of: value))
      let form = record.value.form
      guard form.hasIdentity || form == .string || form == .data || form == .foundationCluster else {
        return write(value, record)
      }
      let object = payload(of: value, as: AnyObject.self)
      if let string = object as? NSString, form == .string,
        (string as String).utf8.count < ObjectGraph.leastSharedLength
      {
        return write(value, record)
      }
      if let data = object as? NSData, form == .data, data.length < ObjectGraph.leastSharedLength {
        return write(value, record)
      }
      refer(to: identities.find(object) ?? identities.add(object, offset: -1))
    }

    /// Enters a nested object. Returns `false` beyond the depth limit.
    @inline(__always)
    func enter(_ record: ClassRecord.Reference) -> Bool {
      if let tooDeep = nesting.check(depth.current &+ 1) {
        fail("\(nesting.description(tooDeep)); a linked list is better archived as an array.")
        return false
      }
      if isSortKey, writer.count > Self.longestSortKey {
        fail("The value is longer than what it is sorted by.")
        return false
      }
      depth.enter()
      buffers.path.append(record)
      return true
    }

    @inline(__always)
    func leave() {
      depth.leave()
      // Kept after a failure: its message is complete, and encoding has ended.
      buffers.path.removeLast()
    }

    // MARK: Objects of classes of one's own

    private func writeCoded(_ object: AnyObject, _ record: ClassRecord.Reference) {
      guard let object = object as? NSObject else {
        guard let entry = firstEntry(of: object) else { return }
        return writeCoded(object, entry, record, as: record)
      }
      if let replacement = replacements[ObjectIdentifier(object)] { return write(replacement) }
      let replacement = object.replacementObject(for: self as NSCoder)
      guard let replacement, payloadObject(of: replacement) === object else {
        // Retained with the object, so that its address stays unique.
        identities.add(object, offset: -1)
        replacements[ObjectIdentifier(object)] = replacement
        return write(replacement)
      }
      var substitute = record
      let stated: AnyClass = object.classForKeyedArchiver ?? object.classForCoder
      if ObjectIdentifier(stated) != ObjectIdentifier(record.value.type) {
        substitute = ClassTable.record(of: stated)
      }
      if substitute.value.form != .object {
        guard object.isKind(of: stated) else {
          return fail(
            "The class \(ClassDescription.name(of: record)) is archived as \(ClassDescription.name(of: substitute)), which "
              + "is not a superclass. Return another class from classForKeyedArchiver and classForCoder.")
        }
        return write(object, substitute, withIdentity: true)
      }
      guard let entry = firstEntry(of: object) else { return }
      writeCoded(object, entry, record, as: substitute)
    }

    private func payloadObject(of value: Any) -> AnyObject? {
      let form = ClassTable.record(of: type(of: value)).value.form
      return form.rawValue >= ValueForm.string.rawValue ? payload(of: value, as: AnyObject.self) : nil
    }

    private func writeCoded(
      _ object: AnyObject, _ entry: Int, _ record: ClassRecord.Reference, as named: ClassRecord.Reference
    ) {
      let outer = depth.begin()
      guard enter(record), let coding = record.value.coding else { return }
      if requiresSecureCoding, !named.value.supportsSecureCoding {
        return fail(
          "The class \(ClassDescription.name(of: named)) does not conform to NSSecureCoding, which is required.")
      }
      writer.writeTag(CBORTag.object)
      writer.writeArrayHead(count: 2)
      guard writeName(of: named) else { return }
      writeFields {
        encode(object, as: coding)
        if named.value.extendsFoundation, !isRehearsal { refuseFoundationKeys() }
      }
      leave()
      identities.setLevels(depth.end(outer), of: entry)
    }

    private func encode<Coded: NSCoding>(_ object: AnyObject, as type: Coded.Type) {
      unsafe unsafeBitCast(object, to: Coded.self).encode(with: self)
    }

    private func writeName(of record: ClassRecord.Reference) -> Bool {
      if isRehearsal, let type = record.value.anyClass, !ClassName.isNamedByFoundation(type) {
        fail(
          """
          The class \(ClassDescription.name(of: record)) is not at the top level of a module: NSKeyedArchiver on Linux \
          has no name for it. Move it there, or archive objects as ObjectCoding.Archiving.cbor.
          """)
        return false
      }
      if let type = record.value.anyClass,
        let name = names.isEmpty ? Self.className(for: type) : names[name: type] ?? Self.className(for: type)
      {
        writer.writeText(name)
        return true
      }
      guard !record.value.encodedName.isEmpty else {
        fail(
          """
          The class \(ClassDescription.name(of: record)) is private or local, and cannot be found by its name; give it \
          one with setClassName(_:for:), and the unarchiver the class with setClass(_:forClassName:).
          """)
        return false
      }
      writer.append(record.value.encodedName)
      return true
    }

    /// Foundation's `encode(with:)` writes keys that its `init(coder:)` reads only from its own unarchiver; any other
    /// ends the process.
    private func refuseFoundationKeys() {
      guard failure == nil else { return }
      let own = keyOffsets[frame.firstKey...]
      let isFoundations = writer.withBytes { bytes in own.contains { FoundationCoding.isFoundationsKey(bytes, at: $0) }
      }
      guard isFoundations else { return }
      fail(
        """
        Its superclass encodes what only Foundation's own unarchiver reads. Return the superclass from classForCoder, \
        or encode what the object holds without calling super.
        """)
    }
  }

  extension CBORKeyedArchiver {
    /// Writes a value with a plain form, which needs only its bytes.
    static func writePlain(_ value: Any, _ record: ClassRecord.Reference, to writer: inout CBORWriter) {
      switch record.value.form {
      case .swiftBool: writer.writeBool(payload(of: value, as: Bool.self))
      case .swiftInteger, .swiftUnsigned: writeInteger(value, record, to: &writer)
      case .swiftFloat: writer.writeWhole(payload(of: value, as: Float.self))
      case .swiftDouble: writer.writeWhole(payload(of: value, as: Double.self))
      case .swiftString: writer.writeText(payload(of: value, as: String.self))
      case .swiftData: writer.writeBytes(payload(of: value, as: Data.self))
      case .swiftDate: writer.writeDate(payload(of: value, as: Date.self).timeIntervalSinceReferenceDate)
      case .swiftUUID: writer.writeUUID(payload(of: value, as: UUID.self))
      case .string: writer.writeText(payload(of: value, as: NSString.self) as String)
      case .boolean: writer.writeBool(payload(of: value, as: NSNumber.self).boolValue)
      case .number: writer.writeNumber(payload(of: value, as: NSNumber.self))
      case .data: writer.writeBytes(contentsOf: payload(of: value, as: NSData.self))
      case .date: writer.writeDate(payload(of: value, as: NSDate.self).timeIntervalSinceReferenceDate)
      case .uuid: writer.writeUUID(payload(of: value, as: NSUUID.self) as UUID)
      case .null: writer.writeNull()
      default: preconditionFailure("Not a plain value.")
      }
    }

    private static func writeInteger(_ value: Any, _ record: ClassRecord.Reference, to writer: inout CBORWriter) {
      if record.value.type == Int.self { return writer.writeInteger(payload(of: value, as: Int.self)) }
      guard let integer = value as? any FixedWidthInteger else { preconditionFailure("Not an integer.") }
      write(integer, to: &writer)
    }

    private static func write(_ integer: some FixedWidthInteger, to writer: inout CBORWriter) {
      writer.writeInteger(integer)
    }

    func writeString(_ string: NSString, _ object: AnyObject) {
      let text = string as String
      if text.utf8.count >= ObjectGraph.leastSharedLength, !isFirst(object) { return }
      writer.writeText(text)
    }

    func writeData(_ data: NSData, _ object: AnyObject) {
      if data.length >= ObjectGraph.leastSharedLength, !isFirst(object) { return }
      writer.writeBytes(contentsOf: data)
    }

    func writeURL(_ url: NSURL) {
      guard let base = url.baseURL else {
        writer.writeTag(CBORTag.uri)
        return writer.writeText(url.relativeString)
      }
      guard enter(ClassTable.record(of: NSURL.self)) else { return }
      writer.writeTag(CBORTag.object)
      writer.writeArrayHead(count: 2)
      writer.writeText("NSURL")
      writer.writeArrayHead(count: 2)
      writer.writeText(url.relativeString)
      writeURL(base as NSURL)
      leave()
    }

    /// Writes an object of a private Foundation class that represents a public one.
    func writeClusterMember(_ object: AnyObject, _ record: ClassRecord.Reference) {
      if let stated = (object as? NSObject)?.classForCoder, stated != type(of: object) {
        let stated = ClassTable.record(of: stated)
        if stated.value.form != .foundationCluster { return writeObject(object, stated) }
      }
      // Foundation's collections box Swift values, and unbox them on access.
      let opened = unsafe NSArray(objects: [object], count: 1).object(at: 0)
      if ClassTable.record(of: type(of: opened)).value.form != .foundationCluster { return write(opened) }
      fail(
        """
        Objects of Foundation's class \(ClassDescription.name(of: record)) cannot be archived. Store their contents as a \
        Codable value.
        """)
    }

    func writeContents(of object: AnyObject, _ record: ClassRecord.Reference) {
      switch record.value.form {
      case .array: return writeArray(FoundationElements.elements(of: object as! NSArray))
      case .dictionary: return writeDictionary(object as! NSDictionary)
      case .set:
        writer.writeTag(CBORTag.set)
        return writeSet(FoundationElements.elements(of: object as! NSSet))
      default: break
      }
      writer.writeTag(CBORTag.object)
      writer.writeArrayHead(count: 2)
      writer.append(record.value.encodedName)
      switch record.value.form {
      case .mutableString: writer.writeText((object as! NSString) as String)
      case .mutableData: writer.writeBytes(contentsOf: object as! NSData)
      case .mutableArray: writeArray(FoundationElements.elements(of: object as! NSArray))
      case .mutableDictionary: writeDictionary(object as! NSDictionary)
      case .mutableSet: writeSet(FoundationElements.elements(of: object as! NSSet))
      case .countedSet: writeCountedSet(object as! NSCountedSet)
      case .orderedSet, .mutableOrderedSet:
        writeArray(FoundationElements.elements(of: object as! NSOrderedSet))
      case .foundation: writeFields { FoundationCoding.all[record.value.foundationCoding].encode(object, self) }
      default: preconditionFailure("No class with contents.")
      }
    }
  }

  extension CBORWriter {
    /// Avoids converting `NSData` to `Data`, which takes a thousand times as long.
    mutating func writeBytes(contentsOf data: NSData) {
      let count = data.length
      unsafe writeBytes(CBORBytes(UnsafeRawBufferPointer(start: count > 0 ? data.bytes : nil, count: count)))
    }
  }

  extension CBORWriter {
    /// Always single precision, so that a reader gets a `Float`.
    @inline(__always)
    mutating func writeWhole(_ value: Float) { writeInitialByte(0xFA, value.bitPattern) }

    /// Always double precision, so that a reader gets a `Double`.
    @inline(__always)
    mutating func writeWhole(_ value: Double) { writeInitialByte(0xFB, value.bitPattern) }

    mutating func writeNumber(_ number: NSNumber) {
      switch unsafe UInt8(bitPattern: number.objCType.pointee) {
      case UInt8(ascii: "d"): writeWhole(number.doubleValue)
      case UInt8(ascii: "f"): writeWhole(number.floatValue)
      case UInt8(ascii: "Q"): writeInteger(number.uint64Value)
      default: writeInteger(number.int64Value)
      }
    }

    /// Writes seconds since 1970 under tag 1 if the conversion is lossless.
    mutating func writeDate(_ seconds: TimeInterval) {
      let epoch = seconds + Date.timeIntervalBetween1970AndReferenceDate
      if (epoch - Date.timeIntervalBetween1970AndReferenceDate).bitPattern == seconds.bitPattern {
        writeTag(CBORTag.epochTime)
        if let whole = Int64(exactly: epoch) { writeInteger(whole) } else { writeWhole(epoch) }
      } else {
        writeTag(CBORTag.object)
        writeArrayHead(count: 2)
        writeText("NSDate")
        writeWhole(seconds)
      }
    }

    /// Writes a decimal fraction (tag 4); NaN is an object around a NaN.
    mutating func writeDecimal(_ value: Decimal) {
      guard value.isNaN else { return CBORDecimalForm.write(value, to: &self) }
      writeTag(CBORTag.object)
      writeArrayHead(count: 2)
      writeText("NSDecimalNumber")
      writeWhole(Double.nan)
    }
  }
#endif
