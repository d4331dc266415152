#if !canImport(Darwin)
  import Foundation

  /// What is made of the objects of a class.
  struct KeyedArchiveClass {
    enum Kind {
      case foundation(FoundationDecoding)
      case coded(any NSCoding.Type)
    }

    let type: AnyClass
    let kind: Kind
    /// Whether it is no class of Foundation's and inherits from one other than `NSObject`.
    let extendsFoundation: Bool

    private static let longestName = 1024

    /// The class of a name that an archive gives, which is not trusted; nil: there is none that is read.
    static func find(_ name: String) -> KeyedArchiveClass? {
      guard !name.isEmpty, name.utf8.count <= longestName else { return nil }
      if let mapped = NSKeyedUnarchiver.class(forClassName: name) { return KeyedArchiveClass(substituting: mapped) }
      if let known = FoundationDecoding.byName[name] {
        return KeyedArchiveClass(type: known.type, kind: .foundation(known), extendsFoundation: false)
      }
      // The name of a class at the top level of a module, which is all that Foundation's archiver writes. The runtime
      // reads other names as it likes.
      let parts = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
      guard parts.count == 2, parts[0].elementsEqual("Foundation".utf8) == false,
        parts.allSatisfy({ part in
          part.first.map { !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } == true
            && part.allSatisfy { isIdentifier($0) }
        }), let type = _typeByName(name) as? AnyClass
      else { return nil }
      return KeyedArchiveClass(substituting: type)
    }

    private init(type: AnyClass, kind: Kind, extendsFoundation: Bool) {
      self.type = type
      self.kind = kind
      self.extendsFoundation = extendsFoundation
    }

    private init?(substituting type: AnyClass) {
      var type: AnyClass = type
      if !Self.isFoundation(type), let substitute = (type as? NSObject.Type)?.classForKeyedUnarchiver() {
        type = substitute
      }
      if let known = FoundationDecoding.byType[ObjectIdentifier(type)] {
        self.init(type: known.type, kind: .foundation(known), extendsFoundation: false)
        return
      }
      guard !Self.isFoundation(type), let coding = type as? any NSCoding.Type else { return nil }
      var ancestor: AnyClass? = _getSuperclass(type)
      var extends = false
      while let next = ancestor, next != NSObject.self {
        if Self.isFoundation(next) { extends = true }
        ancestor = _getSuperclass(next)
      }
      self.init(type: type, kind: .coded(coding), extendsFoundation: extends)
    }

    private static func isIdentifier(_ byte: UInt8) -> Bool {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), 0x80...:
        true
      default: false
      }
    }

    private static func isFoundation(_ type: AnyClass) -> Bool {
      _typeName(type, qualified: true).hasPrefix("Foundation.")
    }

    /// Whether a class is another one or a subclass of it.
    static func `is`(_ type: AnyClass, _ other: AnyClass) -> Bool {
      var next: AnyClass? = type
      while let current = next {
        if current == other { return true }
        next = _getSuperclass(current)
      }
      return false
    }

    static func isObject(_ object: AnyObject, of type: AnyClass) -> Bool { `is`(Swift.type(of: object), type) }
  }
#endif
