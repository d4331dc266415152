#if !canImport(Darwin)
  import Foundation
  import FoundationObjects

  extension CBORKeyedUnarchiver {
    /// Reads a collection's elements, which must not be nil.
    private func readElements(
      _ count: Int, _ reader: inout CBORReader, _ start: Int
    ) throws(CBORCodingError) -> ContiguousArray<AnyObject> {
      try enter(start)
      defer { depth.leave() }
      var elements = ContiguousArray<AnyObject>()
      elements.reserveCapacity(count)
      for _ in 0..<count { elements.append(try readElement(&reader)) }
      return elements
    }

    @inline(__always)
    private func readElement(_ reader: inout CBORReader) throws(CBORCodingError) -> AnyObject {
      let start = reader.offset
      guard let element = try readItem(&reader, isElement: true) else {
        throw corrupt("There is nil in a collection", at: start)
      }
      return element
    }

    // MARK: Arrays

    func readArray(count: Int, _ reader: inout CBORReader, _ start: Int) throws(CBORCodingError) -> NSArray {
      let elements = try readElements(count, &reader, start)
      if hasForeignObjects { return NSArray(array: Array(elements)) }
      return unsafe elements.make(NSArray.init(objects:count:))
    }

    func readMutableArray(
      _ reader: inout CBORReader, _ number: Int?, _ start: Int
    ) throws(CBORCodingError) -> NSMutableArray {
      let count = try arrayCount(&reader)
      guard let number else {
        let elements = try readElements(count, &reader, start)
        if hasForeignObjects { return NSMutableArray(array: Array(elements)) }
        return unsafe elements.make(NSMutableArray.init(objects:count:))
      }
      // Registered before its elements are read, since one may contain it.
      let array = NSMutableArray()
      shared.values[number].state = .beingFilled(array)
      try enter(start)
      defer { depth.leave() }
      for _ in 0..<count { array.add(try readElement(&reader)) }
      return array
    }

    // MARK: Dictionaries

    func readDictionary(count: Int, _ reader: inout CBORReader, _ start: Int) throws(CBORCodingError) -> NSDictionary {
      let (keys, values) = try readPairs(count, &reader, start)
      let dictionary =
        unsafe hasForeignObjects
        ? NSDictionary(dictionary: Self.swiftDictionary(keys, values))
        : values.make { values, count in
          unsafe keys.make { unsafe NSDictionary(objects: values, forKeys: $0, count: $1) }
        }
      guard dictionary.count == count else { throw corrupt("A dictionary has equal keys", at: start) }
      return dictionary
    }

    func readMutableDictionary(
      _ reader: inout CBORReader, _ number: Int?, _ start: Int
    ) throws(CBORCodingError) -> NSMutableDictionary {
      let count = try mapCount(&reader)
      var dictionary = NSMutableDictionary()
      if let number { shared.values[number].state = .beingFilled(dictionary) }
      let (keys, values) = try readPairs(count, &reader, start)
      if number == nil, !hasForeignObjects {
        dictionary = unsafe values.make { values, _ in
          unsafe keys.make { unsafe NSMutableDictionary(objects: values, forKeys: $0, count: $1) }
        }
      } else {
        for index in keys.indices { dictionary.setObject(values[index], forKey: AnyHashable(keys[index])) }
      }
      guard dictionary.count == count else { throw corrupt("A dictionary has equal keys", at: start) }
      return dictionary
    }

    private static func swiftDictionary(
      _ keys: ContiguousArray<NSObject>, _ values: ContiguousArray<AnyObject>
    ) -> [AnyHashable: Any] {
      Dictionary(zip(keys.map { AnyHashable($0) }, values)) { first, _ in first }
    }

    private func readPairs(
      _ count: Int, _ reader: inout CBORReader, _ start: Int
    ) throws(CBORCodingError) -> (keys: ContiguousArray<NSObject>, values: ContiguousArray<AnyObject>) {
      try enter(start)
      defer { depth.leave() }
      var keys = ContiguousArray<NSObject>()
      var values = ContiguousArray<AnyObject>()
      var guarded = HashedElements(count: count)
      keys.reserveCapacity(count)
      values.reserveCapacity(count)
      for _ in 0..<count {
        keys.append(try readHashable(&reader, &guarded))
        values.append(try readElement(&reader))
      }
      try charge(guarded, start)
      return (keys, values)
    }

    // MARK: Sets

    func readSet(_ reader: inout CBORReader, _ type: NSSet.Type) throws(CBORCodingError) -> NSSet {
      let start = reader.offset
      let elements = try readHashedElements(&reader)
      let set: NSSet =
        unsafe type == NSMutableSet.self
        ? elements.make(NSMutableSet.init(objects:count:)) : elements.make(NSSet.init(objects:count:))
      guard set.count == elements.count else { throw corrupt("A set has equal elements", at: start) }
      return set
    }

    func readOrderedSet(_ reader: inout CBORReader, isMutable: Bool) throws(CBORCodingError) -> NSOrderedSet {
      let start = reader.offset
      let elements = try readHashedElements(&reader)
      let set: NSOrderedSet =
        unsafe isMutable
        ? elements.make(NSMutableOrderedSet.init(objects:count:)) : elements.make(NSOrderedSet.init(objects:count:))
      guard set.count == elements.count else { throw corrupt("A set has equal elements", at: start) }
      return set
    }

    func readCountedSet(_ reader: inout CBORReader) throws(CBORCodingError) -> NSCountedSet {
      let start = reader.offset
      let count = try arrayCount(&reader)
      guard count.isMultiple(of: 2) else { throw mismatch("pairs of an element and a count", at: start) }
      try enter(start)
      defer { depth.leave() }
      let set = NSCountedSet()
      var guarded = HashedElements(count: count / 2)
      var elements: ContiguousArray<(NSObject, Int)> = []
      for _ in 0..<count / 2 {
        let element = try readHashable(&reader, &guarded)
        let times: Int = try readInteger(&reader)
        // Foundation can only add it one by one.
        guard times > 0, budget.charge(times) else { throw mismatch("a count that can be", at: start) }
        elements.append((element, times))
      }
      try charge(guarded, start)
      for (element, times) in elements { for _ in 0..<times { set.add(element) } }
      guard set.count == elements.count else { throw corrupt("A set has equal elements", at: start) }
      return set
    }

    private func readHashedElements(_ reader: inout CBORReader) throws(CBORCodingError) -> ContiguousArray<AnyObject> {
      let start = reader.offset
      let count = try arrayCount(&reader)
      try enter(start)
      defer { depth.leave() }
      var elements = ContiguousArray<AnyObject>()
      var guarded = HashedElements(count: count)
      elements.reserveCapacity(count)
      for _ in 0..<count {
        elements.append(try readHashable(&reader, &guarded))
      }
      try charge(guarded, start)
      return elements
    }

    // MARK: Hashes

    private func readHashable(
      _ reader: inout CBORReader, _ elements: inout HashedElements
    ) throws(CBORCodingError) -> NSObject {
      let start = reader.offset
      let mark = budget.mark
      let element = try readElement(&reader)
      guard let object = element as? NSObject else { throw mismatch("an element of a set, or a key", at: start) }
      let hashing = ClassTable.record(of: type(of: object)).value.hashing
      guard budget.add(object, hashing, since: mark, to: &elements) else {
        throw corrupt("A \(type(of: object)) is in a set, or a key, which Foundation cannot compare", at: start)
      }
      return object
    }

    /// Charges comparisons of elements with equal hashes to the budget before Foundation makes them.
    private func charge(_ elements: consuming HashedElements, _ start: Int) throws(CBORCodingError) {
      guard budget.charge(elements) else {
        throw corrupt("Elements of a set, or keys, have equal hashes beyond chance", at: start)
      }
    }
  }

  extension ContiguousArray {
    /// Lends the elements to an initializer of one of Foundation's collections.
    fileprivate func make<Collection>(_ initializer: (UnsafePointer<Element>?, Int) -> Collection) -> Collection {
      unsafe withUnsafeBufferPointer { unsafe initializer($0.baseAddress, $0.count) }
    }
  }
#endif
