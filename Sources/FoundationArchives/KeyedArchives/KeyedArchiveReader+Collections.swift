#if !canImport(Darwin)
  import Foundation
  import FoundationObjects

  extension KeyedArchiveReader {
    /// The objects under a key, none of them nil. Older archives use one key each: `prefix` and a number.
    func elements(_ key: String, each prefix: String) throws(KeyedArchiveError) -> [AnyObject] {
      var elements: [AnyObject] = []
      try forEachElement(key, each: prefix) { (object) throws(KeyedArchiveError) in elements.append(object) }
      return elements
    }

    private func forEachElement(
      _ key: String, each prefix: String, _ body: (AnyObject) throws(KeyedArchiveError) -> Void
    ) throws(KeyedArchiveError) {
      guard let node = frame.fields[key] else {
        var index = 0
        while let node = frame.fields["\(prefix)\(index)"] {
          try body(try element(graph.list[node]))
          index += 1
        }
        return
      }
      guard case .array(let references) = graph.list[node] else {
        throw KeyedArchiveError("There is something else where the elements of a collection were expected.")
      }
      for reference in references { try body(try element(graph.list[reference])) }
    }

    private func element(_ node: PropertyListNode) throws(KeyedArchiveError) -> AnyObject {
      guard case .uid = node, let object = try read(node) else {
        throw KeyedArchiveError("There is nil, or no object, in a collection.")
      }
      return object
    }

    /// Reads set elements or dictionary keys, charging their comparisons before Foundation makes them.
    func hashedElements(_ key: String, each prefix: String) throws(KeyedArchiveError) -> [NSObject] {
      var elements: [NSObject] = []
      var hashed = HashedElements()
      var mark = budget.mark
      try forEachElement(key, each: prefix) { (element) throws(KeyedArchiveError) in
        guard let object = element as? NSObject,
          budget.add(object, Hashing.of(type(of: object)), since: mark, to: &hashed)
        else {
          throw KeyedArchiveError("A \(type(of: element)) is in a set, or a key, which Foundation cannot compare.")
        }
        elements.append(object)
        mark = budget.mark
      }
      guard budget.charge(hashed) else { throw Self.beyondBudget }
      return elements
    }

    func charge(_ amount: Int) throws(KeyedArchiveError) {
      guard budget.charge(amount) else { throw Self.beyondBudget }
    }

    private static var beyondBudget: KeyedArchiveError {
      KeyedArchiveError("Elements of a set, or keys, have equal hashes beyond chance, or too great a count.")
    }

    func pairs() throws(KeyedArchiveError) -> (keys: [NSObject], values: [AnyObject]) {
      let keys = try hashedElements("NS.keys", each: "NS.key.")
      let values = try elements("NS.objects", each: "NS.object.")
      guard keys.count == values.count else {
        throw KeyedArchiveError("A dictionary has more keys than values, or fewer.")
      }
      return (keys, values)
    }

    func check(_ count: Int, of elements: Int) throws(KeyedArchiveError) {
      guard count == elements else { throw KeyedArchiveError("A set has equal elements, or a dictionary equal keys.") }
    }

    /// Reads integers of up to 64 bits, seven bits a byte, lowest first.
    static func packedIntegers(_ data: Data) throws(KeyedArchiveError) -> [Int] {
      var integers: [Int] = []
      var value: UInt64 = 0
      var shift: UInt64 = 0
      for byte in data {
        guard shift < 63 else { throw KeyedArchiveError("There is a packed integer that is too long.") }
        value |= UInt64(byte & 0x7F) << shift
        if byte & 0x80 != 0 {
          shift += 7
          continue
        }
        guard let integer = Int(exactly: value) else { throw KeyedArchiveError("There is a packed integer too great.") }
        integers.append(integer)
        (value, shift) = (0, 0)
      }
      guard shift == 0 else { throw KeyedArchiveError("There is a packed integer that does not end.") }
      return integers
    }
  }
#endif
