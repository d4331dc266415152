#if !canImport(Darwin)
  import Foundation

  extension FoundationDecoding {
    static let collections: [FoundationDecoding] = [
      make(NSArray.self) { reader throws(KeyedArchiveError) in NSArray(array: try array(reader)) },
      make(NSMutableArray.self) { reader throws(KeyedArchiveError) in NSMutableArray(array: try array(reader)) },
      make(NSDictionary.self) { reader throws(KeyedArchiveError) in
        let (keys, values) = try reader.pairs()
        let dictionary = NSDictionary(objects: values, forKeys: keys)
        try reader.check(dictionary.count, of: keys.count)
        return dictionary
      },
      make(NSMutableDictionary.self) { reader throws(KeyedArchiveError) in
        let (keys, values) = try reader.pairs()
        let dictionary = NSMutableDictionary(objects: values, forKeys: keys)
        try reader.check(dictionary.count, of: keys.count)
        return dictionary
      },
      make(NSSet.self) { reader throws(KeyedArchiveError) in
        let elements = try hashed(reader)
        let set = NSSet(array: elements)
        try reader.check(set.count, of: elements.count)
        return set
      },
      make(NSMutableSet.self) { reader throws(KeyedArchiveError) in
        let elements = try hashed(reader)
        let set = NSMutableSet(array: elements)
        try reader.check(set.count, of: elements.count)
        return set
      },
      make(NSOrderedSet.self) { reader throws(KeyedArchiveError) in
        let elements = try hashed(reader)
        let set = NSOrderedSet(array: elements)
        try reader.check(set.count, of: elements.count)
        return set
      },
      make(NSMutableOrderedSet.self) { reader throws(KeyedArchiveError) in
        let elements = try hashed(reader)
        let set = NSMutableOrderedSet(array: elements)
        try reader.check(set.count, of: elements.count)
        return set
      },
      make(NSCountedSet.self) { reader throws(KeyedArchiveError) in
        let elements = try reader.hashedElements("NS.objects", each: "NS.object")
        let set = NSCountedSet()
        for (index, element) in elements.enumerated() {
          let key = "NS.count\(index)"
          let count = reader.containsValue(forKey: key) ? reader.integer(forKey: key, Int.self) : 1
          guard count > 0 else { return nil }
          // Foundation has no other way than to add it so often.
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

    private static func hashed(_ reader: KeyedArchiveReader) throws(KeyedArchiveError) -> [NSObject] {
      try reader.hashedElements("NS.objects", each: "NS.object.")
    }
  }
#endif
