#if !canImport(Darwin)
  import Foundation

  extension CBORKeyedArchiver {
    func writeArray(_ elements: [Any]) {
      writer.writeArrayHead(count: elements.count)
      for element in elements where failure == nil { write(element) }
    }

    func writeSet(_ elements: [Any]) {
      writer.writeArrayHead(count: elements.count)
      writeSorted(elements) { _ in }
    }

    /// Writes each element with its count.
    func writeCountedSet(_ set: NSCountedSet) {
      let elements = FoundationElements.elements(of: set)
      writer.writeArrayHead(count: elements.count * 2)
      writeSorted(elements) { writer.writeInteger(set.count(for: elements[$0])) }
    }

    /// Writes set elements or keys in an order independent of hashes, each followed by the output of `next`.
    private func writeSorted(_ elements: [Any], _ next: (Int) -> Void) {
      if let sorted = SortedValues(elements) {
        return sorted.forEach { index, bytes in
          writer.append(bytes)
          if failure == nil { next(index) }
        }
      }
      // Omit nested sets from sort keys: their elements may lead back to the start.
      if isSortKey { return }
      var order = Array(elements.indices)
      if !isRehearsal, elements.count > 1 {
        let keys = elements.map { sortKey(of: $0) }
        order.sort { keys[$0].lexicographicallyPrecedes(keys[$1]) }
      }
      for index in order where failure == nil {
        write(elements[index])
        if failure == nil { next(index) }
      }
    }

    /// Returns the beginning of a value's separate encoding.
    private func sortKey(of value: Any) -> [UInt8] {
      let archiver = CBORKeyedArchiver(requiringSecureCoding: false)
      archiver.isSortKey = true
      (archiver.names, archiver.depth, archiver.nesting) = (names, depth, nesting)
      archiver.write(value)
      return archiver.writer.withBytes { $0[0..<min($0.count, Self.longestSortKey)].array }
    }

    func writeDictionary(_ dictionary: NSDictionary) {
      // For Foundation's own classes, both are in the order of the underlying dictionary.
      let keys = dictionary.allKeys
      let values = dictionary.allValues
      guard keys.count == values.count else { return fail("A dictionary was changed while it was encoded.") }
      writer.writeMapHead(count: keys.count)
      writeSorted(keys) { write(values[$0]) }
    }
  }

  /// Plain values sorted by their encoded bytes, independent of hashes, which differ from run to run.
  struct SortedValues: ~Copyable {
    private var writer = CBORWriter(capacity: 256)
    private var ranges: ContiguousArray<(range: Range<Int>, index: Int)> = []

    /// Returns `nil` if any value is not plain.
    init?(_ values: [Any]) {
      ranges.reserveCapacity(values.count)
      for index in values.indices {
        let record = ClassTable.record(of: type(of: values[index]))
        guard record.value.form.isPlain else { return nil }
        let start = writer.count
        CBORKeyedArchiver.writePlain(values[index], record, to: &writer)
        ranges.append((start..<writer.count, index))
      }
      guard ranges.count > 1 else { return }
      writer.withBytes { bytes in
        ranges.sort { first, second in
          let (first, second) = (first.range, second.range)
          let order = bytes.order(first.lowerBound, second.lowerBound, count: min(first.count, second.count))
          return order == 0 ? first.count < second.count : order < 0
        }
      }
    }

    func forEach(_ body: (Int, CBORBytes) -> Void) {
      writer.withBytes { bytes in
        for (range, index) in ranges { body(index, bytes[range]) }
      }
    }
  }

  /// Swift collections, written without converting them to `NSArray`, which would dominate the cost.
  package protocol SwiftElements {
    static func write(_ value: Any, to archiver: CBORKeyedArchiver)
  }

  extension Array: SwiftElements {
    package static func write(_ value: Any, to archiver: CBORKeyedArchiver) {
      let elements = payload(of: value, as: Self.self)
      archiver.writer.writeArrayHead(count: elements.count)
      if Element.self == String.self {
        for text in unsafe unsafeBitCast(elements, to: [String].self) { archiver.writer.writeText(text) }
      } else {
        for element in elements where archiver.failure == nil { archiver.write(element) }
      }
    }
  }

  extension CBORKeyedArchiver {
    package func writeArray(count: Int, _ body: () -> Void) {
      guard enter(ClassTable.record(of: NSArray.self)) else { return }
      writer.writeArrayHead(count: count)
      body()
      leave()
    }

    /// Writes a dictionary whose `count` entries `body` writes, ordered by encoded key.
    package func writeDictionary(count: Int, _ body: () -> Void) {
      guard enter(ClassTable.record(of: NSDictionary.self)) else { return }
      writer.writeMapHead(count: count)
      body()
      leave()
    }
  }

  /// The elements of Foundation's collections, by reflection. On Linux, other access bridges them to Swift values and
  /// loses identity. (Mutable elements of ordered sets still come back immutable.)
  enum FoundationElements {
    static func elements(of array: NSArray) -> [Any] {
      guard type(of: array) == NSArray.self || type(of: array) == NSMutableArray.self else {
        return (0..<array.count).map { array.object(at: $0) }
      }
      return reflected(array, count: array.count) ?? (0..<array.count).map { array.object(at: $0) }
    }

    static func elements(of set: NSSet) -> [Any] {
      let type = type(of: set)
      if type == NSSet.self || type == NSMutableSet.self || type == NSCountedSet.self,
        let elements = reflected(set, count: set.count)
      {
        return elements
      }
      var elements: [Any] = []
      elements.reserveCapacity(set.count)
      unsafe set.enumerateObjects { element, _ in elements.append(element) }
      return elements
    }

    static func elements(of set: NSOrderedSet) -> [Any] { (0..<set.count).map { set.object(at: $0) } }

    /// Returns `nil` if reflection shows something else.
    private static func reflected(_ collection: NSObject, count: Int) -> [Any]? {
      var elements: [Any] = []
      elements.reserveCapacity(count)
      for child in Mirror(reflecting: collection).children {
        guard child.label == nil else { return nil }
        elements.append(child.value)
      }
      return elements.count == count ? elements : nil
    }
  }
#endif
