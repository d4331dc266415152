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
      if record.pointee.form.rawValue >= ValueForm.string.rawValue {
        return writeObject(payload(of: value, as: AnyObject.self), record)
      }
      guard record.pointee.form == .swiftOther else { return Self.writePlain(value, record, to: &writer) }
      if let elements = record.pointee.elements {
        let array = ClassTable.record(of: NSArray.self)
        guard enter(array) else { return }
        elements.write(value, to: self)
        return leave()
      }
      let object = value as AnyObject
      let bridged = ClassTable.record(of: type(of: object))
      guard bridged.pointee.form != .unsupported, bridged.pointee.form != .foundationCluster || object is any NSCoding
      else { return fail("A value of type \(type(of: value)) is no object that can be archived.") }
      // Just created: nothing else refers to it.
      write(object, bridged, withIdentity: false)
    }

    /// Writes an object on first sight, and a reference to it later.
    @inline(__always)
    func writeObject(_ object: AnyObject, _ record: ClassRecord.Reference) {
      write(object, record, withIdentity: record.pointee.form.hasIdentity)
    }

    private func write(_ object: AnyObject, _ record: ClassRecord.Reference, withIdentity: Bool) {
      if isRehearsal, record.pointee.hashing == .fatal, depth.current > 0 {
        return fail(
          """
          Foundation's archiver on Linux ends the process for an object of class \(ClassDescription.name(of: record)) \
          within another. Encode what it holds, such as the text of a decimal number
          """)
      }
      switch record.pointee.form {
      case .string: return writeString(unsafeDowncast(object, to: NSString.self), object)
      case .number: return writer.writeNumber(unsafeDowncast(object, to: NSNumber.self))
      case .boolean: return writer.writeBool(unsafeDowncast(object, to: NSNumber.self).boolValue)
      case .data: return writeData(unsafeDowncast(object, to: NSData.self), object)
      case .date: return writer.writeDate(unsafeDowncast(object, to: NSDate.self).timeIntervalSinceReferenceDate)
      case .uuid: return writer.writeUUID(unsafeDowncast(object, to: NSUUID.self) as UUID)
      case .null: return writer.writeNull()
      case .url: return writeURL(unsafeDowncast(object, to: NSURL.self))
      case .decimalNumber: return writer.writeDecimal(unsafeDowncast(object, to: NSDecimalNumber.self).decimalValue)
      case .foundationCluster: return writeClusterMember(object, record)
      case .unsupported: return fail("The class \(ClassDescription.name(of: record)) \(record.pointee.problem).")
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
      references.append(ObjectReference(offset: writer.count, entry: entry))
      writer.writeUndefined()
    }

    /// Writes a reference that is nil unless the object is encoded elsewhere.
    func writeConditionally(_ value: Any?) {
      guard let value else { return writer.writeUndefined() }
      let record = ClassTable.record(of: type(of: value))
      let form = record.pointee.form
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
      path.append(record)
      return true
    }

    @inline(__always)
    func leave() {
      depth.leave()
      // Kept after a failure: its message is complete, and encoding has ended.
      path.removeLast()
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
      if ObjectIdentifier(stated) != ObjectIdentifier(record.pointee.type) {
        substitute = ClassTable.record(of: stated)
      }
      if substitute.pointee.form != .object { return write(object, substitute, withIdentity: true) }
      guard let entry = firstEntry(of: object) else { return }
      writeCoded(object, entry, record, as: substitute)
    }

    private func payloadObject(of value: Any) -> AnyObject? {
      let form = ClassTable.record(of: type(of: value)).pointee.form
      return form.rawValue >= ValueForm.string.rawValue ? payload(of: value, as: AnyObject.self) : nil
    }

    private func writeCoded(
      _ object: AnyObject, _ entry: Int, _ record: ClassRecord.Reference, as named: ClassRecord.Reference
    ) {
      let outer = depth.begin()
      guard enter(record), let coding = record.pointee.coding else { return }
      if requiresSecureCoding, !named.pointee.supportsSecureCoding {
        return fail(
          "The class \(ClassDescription.name(of: named)) does not conform to NSSecureCoding, which is required.")
      }
      writer.writeTag(CBORTag.object)
      writer.writeArrayHead(count: 2)
      guard writeName(of: named) else { return }
      writeFields {
        encode(object, as: coding)
        if named.pointee.extendsFoundation, !isRehearsal { refuseFoundationKeys() }
      }
      leave()
      identities.setLevels(depth.end(outer), of: entry)
    }

    private func encode<Coded: NSCoding>(_ object: AnyObject, as type: Coded.Type) {
      unsafeBitCast(object, to: Coded.self).encode(with: self)
    }

    private func writeName(of record: ClassRecord.Reference) -> Bool {
      if isRehearsal, let type = record.pointee.anyClass, !ClassName.isNamedByFoundation(type) {
        fail(
          """
          The class \(ClassDescription.name(of: record)) is not at the top level of a module: NSKeyedArchiver on Linux \
          has no name for it. Move it there, or archive objects as ObjectCoding.Archiving.cbor.
          """)
        return false
      }
      if let type = record.pointee.anyClass,
        let name = names.isEmpty ? Self.className(for: type) : names[name: type] ?? Self.className(for: type)
      {
        writer.writeText(name)
        return true
      }
      guard !record.pointee.encodedName.isEmpty else {
        fail(
          """
          The class \(ClassDescription.name(of: record)) is private or local, and cannot be found by its name; give it \
          one with setClassName(_:for:), and the unarchiver the class with setClass(_:forClassName:).
          """)
        return false
      }
      writer.append(record.pointee.encodedName)
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
#endif
