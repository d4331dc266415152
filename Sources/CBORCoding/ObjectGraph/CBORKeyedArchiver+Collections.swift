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
      return archiver.writer.withBytes { Array($0.prefix(Self.longestSortKey)) }
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
#endif
