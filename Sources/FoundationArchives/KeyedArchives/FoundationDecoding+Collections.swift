#if !canImport(Darwin)
  import Foundation

  extension FoundationDecoding {
    static let collections: [FoundationDecoding] = [
      make(NSArray.self) { reader throws(KeyedArchiveError) in NSArray(array: try array(reader)) },
      make(NSMutableArray.self) { reader throws(KeyedArchiveError) in NSMutableArray(array: try array(reader)) },
      dictionary(NSDictionary.self) { NSDictionary(objects: $0, forKeys: $1) },
      dictionary(NSMutableDictionary.self) { NSMutableDictionary(objects: $0, forKeys: $1) },
      set(NSSet.self, { NSSet(array: $0) }, \.count), set(NSMutableSet.self, { NSMutableSet(array: $0) }, \.count),
      set(NSOrderedSet.self, { NSOrderedSet(array: $0) }, \.count),
      set(NSMutableOrderedSet.self, { NSMutableOrderedSet(array: $0) }, \.count),
      make(NSCountedSet.self) { reader throws(KeyedArchiveError) in
        let elements = try reader.hashedElements("NS.objects", each: "NS.object")
        let set = NSCountedSet()
        for (index, element) in elements.enumerated() {
          let key = "NS.count\(index)"
          let count = reader.containsValue(forKey: key) ? reader.integer(forKey: key, Int.self) : 1
          guard count > 0 else { return nil }
          // Foundation can only add it one by one.
          try reader.charge(count)
          for _ in 0..<count { set.add(element) }
        }
        try reader.check(set.count, of: elements.count)
        return set
      },
    ]

    private static func array(_ reader: KeyedArchiveReader) throws(KeyedArchiveError) -> [AnyObject] {
      try reader.elements("NS.objects", each: "NS.object.")
    }

    private static func dictionary<Kind: NSDictionary>(
      _ type: Kind.Type, _ make: @escaping @Sendable ([Any], [NSObject]) -> Kind
    ) -> FoundationDecoding {
      self.make(type) { reader throws(KeyedArchiveError) in
        let (keys, values) = try reader.pairs()
        let dictionary = make(values, keys)
        try reader.check(dictionary.count, of: keys.count)
        return dictionary
      }
    }

    private static func set<Kind: NSObject>(
      _ type: Kind.Type, _ make: @escaping @Sendable ([Any]) -> Kind, _ count: any KeyPath<Kind, Int> & Sendable
    ) -> FoundationDecoding {
      self.make(type) { reader throws(KeyedArchiveError) in
        let elements = try reader.hashedElements("NS.objects", each: "NS.object.")
        let set = make(elements)
        try reader.check(set[keyPath: count], of: elements.count)
        return set
      }
    }
  }
#endif
