#if !canImport(Darwin)
  import Foundation

  extension CBORKeyedArchiver {
    func writeArray(_ elements: [Any]) {
      writer.writeArrayHead(count: elements.count)
      for element in elements where failure == nil { write(element) }
    }

    func writeSet(_ elements: [Any]) {
      guard let sorted = SortedValues(elements) else { return writeArray(elements) }
      writer.writeArrayHead(count: elements.count)
      sorted.forEach { _, bytes in writer.append(bytes) }
    }

    /// Each element with how often it is in the set.
    func writeCountedSet(_ set: NSCountedSet) {
      let elements = FoundationElements.elements(of: set)
      writer.writeArrayHead(count: elements.count * 2)
      guard let sorted = SortedValues(elements) else {
        for element in elements where failure == nil {
          write(element)
          writer.writeInteger(set.count(for: element))
        }
        return
      }
      sorted.forEach { index, bytes in
        writer.append(bytes)
        writer.writeInteger(set.count(for: elements[index]))
      }
    }

    func writeDictionary(_ dictionary: NSDictionary) {
      // Of Foundation's own classes, both are in the order of the one dictionary behind them.
      let keys = dictionary.allKeys
      let values = dictionary.allValues
      guard keys.count == values.count else { return fail("A dictionary was changed while it was encoded.") }
      writer.writeMapHead(count: keys.count)
      guard let sorted = SortedValues(keys) else {
        for index in keys.indices where failure == nil {
          write(keys[index])
          write(values[index])
        }
        return
      }
      sorted.forEach { index, bytes in
        writer.append(bytes)
        if failure == nil { write(values[index]) }
      }
    }
  }
#endif
