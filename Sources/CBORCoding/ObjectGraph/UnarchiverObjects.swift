#if !canImport(Darwin)
  import Foundation
  import FoundationObjects

  extension CBORKeyedUnarchiver {
    // MARK: Shared values

    /// Reads a value with references to it, after its tag.
    func readShared(_ reader: inout CBORReader, _ isElement: Bool, _ start: Int) throws(CBORCodingError) -> AnyObject? {
      guard let number = shared.number(at: start) else { throw corrupt("There is a tag out of place", at: start) }
      switch shared.values[number].state {
      case .read(let object):
        // Read before, by an earlier request or a forward reference.
        do { try reader.skipChecked() } catch { throw damaged(error) }
        return try readAgain(number, object, isElement, start)
      case .beingRead, .beingFilled: throw cycle(start, to: shared.values[number].offset)
      case .unread:
        let (mark, levels) = (budget.mark, depth.begin())
        shared.values[number].allowed = allowed
        shared.values[number].state = .beingRead
        let object = try readSharedContents(&reader, number, isElement)
        shared.values[number].levels = depth.end(levels)
        shared.values[number].weight = budget.weight(since: mark)
        shared.values[number].isFragile = budget.isFragile(since: mark)
        shared.values[number].state = .read(object)
        let waiting = shared.values[number].waiting
        shared.values[number].waiting = []
        for completion in waiting { completion(object) }
        if let failure { throw wrapped(failure) }
        return object
      }
    }

    private func readSharedContents(
      _ reader: inout CBORReader, _ number: Int, _ isElement: Bool
    ) throws(CBORCodingError) -> AnyObject {
      let start = reader.offset
      let head = try head(&reader)
      let object: AnyObject?
      if head.major == .tag, head.argument == CBORTag.object {
        object = try readObject(&reader, shared: number, isElement, start)
      } else if head.major == .tag, head.argument == CBORTag.shared || head.argument == CBORTag.reference {
        throw corrupt("There is a shared value in place of a shared value", at: start)
      } else {
        reader.move(to: start)
        object = try readItem(&reader, isElement: isElement)
      }
      guard let object else { throw corrupt("There is a shared nil", at: start) }
      return object
    }

    /// Reads a reference to a shared value, after its tag.
    func readReference(_ reader: inout CBORReader, _ isElement: Bool, _ start: Int) throws(CBORCodingError)
      -> AnyObject?
    {
      let number: Int = try readInteger(&reader)
      guard shared.values.indices.contains(number) else {
        throw corrupt("There is a reference to a value that is not there", at: start)
      }
      switch shared.values[number].state {
      case .read(let object):
        return try readAgain(number, object, isElement, start)
      case .beingRead: throw cycle(start, to: shared.values[number].offset)
      case .beingFilled(let collection):
        guard !requiresSecureCoding else {
          throw corrupt(
            "There is a collection that contains itself, which secure coding does not allow", .cycle, at: start)
        }
        // Comparing it with another one would never end.
        budget.countAgain(weight: .max, isFragile: true)
        return collection
      case .unread:
        // A forward reference, or its field was never requested: read it out of order.
        var other = CBORReader(bytes, at: shared.values[number].offset)
        try enter(start)
        defer { depth.leave() }
        return try readItem(&other, isElement: isElement)
      }
    }

    /// Adds a value that was read before to another one.
    private func readAgain(
      _ number: Int, _ object: AnyObject, _ isElement: Bool, _ start: Int
    ) throws(CBORCodingError) -> AnyObject {
      guard depth.refer(levels: shared.values[number].levels) else {
        throw corrupt("References lead deeper than \(GraphDepth.maximum) levels", .tooDeep, at: start)
      }
      try recheck(number, object, isElement, start)
      budget.countAgain(weight: shared.values[number].weight, isFragile: shared.values[number].isFragile)
      return object
    }

    /// The number of the value referred to at an offset, if it is still being read.
    func unreadReference(at offset: Int) -> Int? {
      var reader = CBORReader(bytes, at: offset)
      guard (try? reader.readTag()) == CBORTag.reference, let number = try? reader.readInteger(Int.self),
        shared.values.indices.contains(number), case .beingRead = shared.values[number].state
      else { return nil }
      return number
    }

    private func cycle(_ start: Int, to target: Int) -> CBORCodingError {
      let path = ArchivePath.description(of: target, in: bytes)
      return corrupt(
        """
        There is a cycle of objects: this refers to the one at \(path), whose init(coder:) has not returned yet. Read \
        it with decodeObject(forKey:whenDecoded:), or set it in the other object's init(coder:)
        """, .cycle, at: start)
    }

    /// Checks the allowed classes again, which may differ from those at the object's first read.
    private func recheck(_ number: Int, _ object: AnyObject, _ isElement: Bool, _ start: Int) throws(CBORCodingError) {
      guard requiresSecureCoding else { return }
      var checks = ClassChecks(allowed: allowed, limit: budget.comparisons)
      guard checks.permit(object, isElement: isElement) else {
        throw corrupt(
          "An object of class \(ClassDescription.name(of: type(of: object))) is not allowed, or is in a collection that holds such",
          .classNotAllowed, at: start)
      }
      budget.comparisons = checks.limit
    }

    // MARK: Objects with a class

    /// Reads an object and its class name, after the tag.
    ///
    /// - Parameter number: Its number, if it is shared.
    func readObject(
      _ reader: inout CBORReader, shared number: Int?, _ isElement: Bool, _ start: Int
    ) throws(CBORCodingError) -> AnyObject? {
      try readArray(of: 2, &reader)
      let nameStart = reader.offset
      guard let name = try? reader.readDefinite(.text), !name.isEmpty else { throw mismatch("a class", at: nameStart) }
      let item = bytes[nameStart..<reader.offset]
      let record = try record(named: item, at: start)
      guard let type = record.value.anyClass else { throw mismatch("a class", at: nameStart) }
      try permit(type, isElement, start)
      if requiresSecureCoding, !record.value.supportsSecureCoding {
        throw corrupt(
          "The class \(ClassDescription.name(of: record)) does not conform to NSSecureCoding, which is required",
          .classNotAllowed, at: start)
      }
      switch record.value.form {
      case .object: return try readCoded(record, &reader, start)
      case .foundation: return try readFoundation(record, &reader, start)
      default: return try readFoundationValue(record, &reader, number, start)
      }
    }

    private func readCoded(
      _ record: ClassRecord.Reference, _ reader: inout CBORReader, _ start: Int
    ) throws(CBORCodingError) -> AnyObject {
      guard let coding = record.value.coding else {
        throw corrupt("This class cannot be decoded", .decodingFailed, at: start)
      }
      if !record.value.isNSObject { hasForeignObjects = true }
      return try readFields(record, &reader, start) {
        if let networkingClass = record.value.networkingClass {
          let outer = allowed
          defer { allowed = outer }
          // It decodes its fields without naming classes.
          allowed = AllowedClasses(outer.all + ValueClasses.basic)
          guard NetworkingClass.isComplete(networkingClass, self), let object = coding.init(coder: self) else {
            return nil
          }
          return payload(of: object, as: AnyObject.self)
        }
        guard let object = coding.init(coder: self) else { return nil }
        return payload(of: object, as: AnyObject.self)
      }
    }

    private func readFoundation(
      _ record: ClassRecord.Reference, _ reader: inout CBORReader, _ start: Int
    ) throws(CBORCodingError) -> AnyObject {
      let coding = FoundationCoding.all[record.value.foundationCoding]
      return try readFields(record, &reader, start) { coding.decode(self) }
    }

    /// Calls `body` to create an object from the fields that follow.
    @inline(__always)
    private func readFields(
      _ record: ClassRecord.Reference, _ reader: inout CBORReader, _ start: Int, _ body: () -> AnyObject?
    ) throws(CBORCodingError) -> AnyObject {
      let count = try mapCount(&reader)
      try enter(start)
      let outer = fields
      fields = FieldCursor(start: reader.offset, count: count)
      defer {
        fields = outer
        depth.leave()
      }
      if record.value.extendsFoundation { try refuseFoundationKeys(start) }
      let object = body()
      if let failure { throw wrapped(failure) }
      guard let object else {
        throw corrupt("init(coder:) of \(ClassDescription.name(of: record)) returned nil", .decodingFailed, at: start)
      }
      do { reader.move(to: try endOfFields()) } catch { throw damaged(error) }
      return object
    }

    /// The final error of decoding; errors reported by objects stay as they are.
    func wrapped(_ error: any Error) -> CBORCodingError {
      error as? CBORCodingError
        ?? CBORCodingError(.decodingFailed, "An object could not be decoded.", underlying: error)
    }

    /// See `CBORKeyedArchiver.refuseFoundationKeys()`: our archives have no such keys in such objects.
    private func refuseFoundationKeys(_ start: Int) throws(CBORCodingError) {
      var keys = CBORReader(bytes, at: fields.start)
      do {
        for _ in 0..<fields.count {
          if FoundationCoding.isFoundationsKey(bytes, at: keys.offset) {
            throw corrupt("There is a key that only Foundation's own unarchiver reads", at: start)
          }
          try keys.skipChecked(2)
        }
      } catch let error as CBORError {
        throw damaged(error)
      } catch {
        throw wrapped(error)
      }
    }

    // MARK: Classes

    /// The class with a name, given as a text item.
    func record(named item: CBORBytes, at start: Int) throws(CBORCodingError) -> ClassRecord.Reference {
      if names.isEmpty, !ClassNameMap.unarchiving.isUsed, let known = ClassTable.record(named: item) {
        return substitute(for: known)
      }
      var reader = CBORReader(item)
      let name = try readText(&reader)
      if let mapped = names[class: name] ?? Self.class(forClassName: name) { return ClassTable.record(of: mapped) }
      if let known = ClassTable.record(named: item) { return substitute(for: known) }
      if requiresSecureCoding {
        // Registers the allowed classes.
        for type in allowed.all { _ = ClassTable.record(of: type) }
        if let known = ClassTable.record(named: item) { return substitute(for: known) }
      }
      guard !requiresSecureCoding || !ClassName.isGeneric(name), let found = ClassName.find(name) else {
        throw corrupt(
          """
          The class \(name.quoted) is unknown here: it was renamed or moved, or is not linked in. \
          setClass(_:forClassName:) gives the name another class
          """, .classUnknown, at: start)
      }
      return substitute(for: ClassTable.record(of: found))
    }

    @inline(__always)
    private func substitute(for record: ClassRecord.Reference) -> ClassRecord.Reference {
      guard let type = record.value.unarchivedAs else { return record }
      return ClassTable.record(of: type)
    }
  }

  struct SharedValues {
    enum State {
      case unread
      /// Its `init(coder:)` is running, so there is no object yet.
      case beingRead
      /// An incomplete collection.
      case beingFilled(AnyObject)
      case read(AnyObject)
    }

    struct Value {
      /// Its tag's offset.
      let offset: Int
      var state = State.unread
      /// Levels of objects inside it.
      var levels = 0
      /// Values inside it, counted once per reference.
      var weight = 0
      /// Whether it contains an object that Foundation cannot compare.
      var isFragile = false
      /// The classes allowed at the value's first read.
      var allowed = AllowedClasses.none
      /// Completions that need the object.
      var waiting: [(AnyObject) -> Void] = []
    }

    var values: ContiguousArray<Value>

    init(offsets: ContiguousArray<Int>) {
      values = ContiguousArray(offsets.map { Value(offset: $0) })
    }

    func number(at offset: Int) -> Int? {
      var low = 0
      var high = values.count
      while low < high {
        let middle = (low + high) / 2
        if values[middle].offset < offset { low = middle + 1 } else { high = middle }
      }
      return low < values.count && values[low].offset == offset ? low : nil
    }
  }

  struct ClassChecks {
    let allowed: AllowedClasses
    /// Objects that may still be checked.
    var limit: Int
    var seen: Set<ObjectIdentifier> = []

    mutating func permit(_ object: AnyObject, isElement: Bool) -> Bool {
      // Iterative: collections may nest to any depth.
      var waiting: [AnyObject] = []
      guard permitAlone(object, isElement: isElement, &waiting) else { return false }
      while let element = waiting.popLast() {
        guard permitAlone(element, isElement: true, &waiting) else { return false }
      }
      return true
    }

    /// - Parameter waiting: Receives a collection's contents.
    private mutating func permitAlone(_ object: AnyObject, isElement: Bool, _ waiting: inout [AnyObject]) -> Bool {
      limit -= 1
      guard limit > 0 else { return false }
      let type: AnyClass = (object as? NSObject)?.classForCoder ?? Swift.type(of: object)
      guard isElement && CBORKeyedUnarchiver.isHarmless(type) || allowed.contains(type) else { return false }
      func add<Collection: NSObject>(_ elements: (Collection) -> [Any]) {
        guard seen.insert(ObjectIdentifier(object)).inserted else { return }
        for element in elements(object as! Collection) { waiting.append(element as AnyObject) }
      }
      switch ClassTable.record(of: Swift.type(of: object)).value.form {
      case .array, .mutableArray: add { (array: NSArray) in FoundationElements.elements(of: array) }
      case .dictionary, .mutableDictionary:
        add { (dictionary: NSDictionary) in dictionary.allKeys + dictionary.allValues }
      case .set, .mutableSet, .countedSet: add { (set: NSSet) in FoundationElements.elements(of: set) }
      case .orderedSet, .mutableOrderedSet: add { (set: NSOrderedSet) in FoundationElements.elements(of: set) }
      default: break
      }
      return true
    }
  }
#endif
