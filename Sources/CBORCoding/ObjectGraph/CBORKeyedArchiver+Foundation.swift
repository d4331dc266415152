#if !canImport(Darwin)
  import Foundation

  extension CBORKeyedArchiver {
    /// Writes a value with a plain form, which needs only its bytes.
    static func writePlain(_ value: Any, _ record: ClassRecord.Reference, to writer: inout CBORWriter) {
      switch record.pointee.form {
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
      if record.pointee.type == Int.self { return writer.writeInteger(payload(of: value, as: Int.self)) }
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
        if stated.pointee.form != .foundationCluster { return writeObject(object, stated) }
      }
      // Foundation's collections box Swift values, and unbox them on access.
      let opened = NSArray(objects: [object], count: 1).object(at: 0)
      if ClassTable.record(of: type(of: opened)).pointee.form != .foundationCluster { return write(opened) }
      fail(
        """
        Objects of Foundation's class \(ClassDescription.name(of: record)) cannot be archived. Store their contents as a \
        Codable value.
        """)
    }

    func writeContents(of object: AnyObject, _ record: ClassRecord.Reference) {
      switch record.pointee.form {
      case .array: return writeArray(FoundationElements.elements(of: unsafeDowncast(object, to: NSArray.self)))
      case .dictionary: return writeDictionary(unsafeDowncast(object, to: NSDictionary.self))
      case .set:
        writer.writeTag(CBORTag.set)
        return writeSet(FoundationElements.elements(of: unsafeDowncast(object, to: NSSet.self)))
      default: break
      }
      writer.writeTag(CBORTag.object)
      writer.writeArrayHead(count: 2)
      writer.append(record.pointee.encodedName)
      switch record.pointee.form {
      case .mutableString: writer.writeText(unsafeDowncast(object, to: NSString.self) as String)
      case .mutableData: writer.writeBytes(contentsOf: unsafeDowncast(object, to: NSData.self))
      case .mutableArray: writeArray(FoundationElements.elements(of: unsafeDowncast(object, to: NSArray.self)))
      case .mutableDictionary: writeDictionary(unsafeDowncast(object, to: NSDictionary.self))
      case .mutableSet: writeSet(FoundationElements.elements(of: unsafeDowncast(object, to: NSSet.self)))
      case .countedSet: writeCountedSet(unsafeDowncast(object, to: NSCountedSet.self))
      case .orderedSet, .mutableOrderedSet:
        writeArray(FoundationElements.elements(of: unsafeDowncast(object, to: NSOrderedSet.self)))
      case .foundation: writeFields { FoundationCoding.all[record.pointee.foundationCoding].encode(object, self) }
      default: preconditionFailure("No class with contents.")
      }
    }
  }

  extension CBORWriter {
    /// Avoids converting `NSData` to `Data`, which takes a thousand times as long.
    mutating func writeBytes(contentsOf data: NSData) {
      let count = data.length
      writeBytes(UnsafeRawBufferPointer(start: count > 0 ? data.bytes : nil, count: count))
    }
  }
#endif
