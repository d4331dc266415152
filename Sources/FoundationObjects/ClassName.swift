#if !canImport(Darwin)
  import Foundation
  import Platform

  /// Class names by which another process finds the classes.
  ///
  /// `NSStringFromClass` ends the process for any class that is not at the top level of a module. So Foundation's
  /// classes use their Objective-C names, other top-level classes are `Module.Class`, and nested and generic ones have
  /// their mangled name without its prefix. Private and local classes need a name set by the user.
  package enum ClassName {
    package static func isFoundation(_ type: AnyClass) -> Bool {
      _typeName(type, qualified: true).hasPrefix("Foundation.")
    }

    /// Whether a class outside Foundation inherits from a Foundation class other than `NSObject`.
    package static func extendsFoundation(_ type: AnyClass) -> Bool {
      guard !isFoundation(type) else { return false }
      var next: AnyClass? = _getSuperclass(type)
      while let ancestor = next, ancestor != NSObject.self {
        if isFoundation(ancestor) { return true }
        next = _getSuperclass(ancestor)
      }
      return false
    }

    /// Whether `NSStringFromClass` supports it.
    package static func isNamedByFoundation(_ type: AnyClass) -> Bool { isTopLevel(_typeName(type, qualified: true)) }

    package static func name(of type: AnyClass) -> String? {
      let printed = _typeName(type, qualified: true)
      if isTopLevel(printed) {
        if printed.hasPrefix("Foundation.") { return NSStringFromClass(type) }
        if printed.canBeTypeName, _typeByName(printed) as? AnyClass == type { return printed }
      }
      guard let mangled = _mangledTypeName(type), mangled.canBeTypeName, isMangled(mangled),
        _typeByName(mangled) as? AnyClass == type
      else { return nil }
      return mangled
    }

    /// The class with a name from an archive, except Foundation's classes.
    ///
    /// The name is untrusted: only the exact result of ``name(of:)`` is accepted, so a class has one name.
    package static func find(_ name: String) -> AnyClass? {
      guard name.canBeTypeName, isMangled(name) || isTopLevel(name) && !name.hasPrefix("Foundation."),
        let type = _typeByName(name) as? AnyClass, self.name(of: type) == name
      else { return nil }
      return type
    }

    /// Whether Foundation or ``find(_:)`` knows a class with this name.
    package static func isKnown(_ name: String) -> Bool {
      name.canBeTypeName && (find(name) != nil || NSClassFromString(name) != nil)
    }

    /// Whether a name is that of a generic class with arguments. Looking one up allocates memory permanently.
    package static func isGeneric(_ name: String) -> Bool { isMangled(name) && name.utf8.last == UInt8(ascii: "G") }

    /// Mangled names begin with the length of the module's name, which as an identifier never begins with a digit.
    private static func isMangled(_ name: String) -> Bool {
      guard let first = name.utf8.first else { return false }
      return first >= UInt8(ascii: "0") && first <= UInt8(ascii: "9")
    }

    private static func isTopLevel(_ name: String) -> Bool {
      let parts = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
      return parts.count == 2
        && parts.allSatisfy { part in
          !part.isEmpty && part.allSatisfy { $0 >= 0x80 || $0 == UInt8(ascii: "_") || isAlphanumeric($0) }
        }
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "A")...UInt8(ascii: "Z"):
        true
      default: false
      }
    }
  }

  /// The classes that may be decoded now, including their subclasses.
  package struct AllowedClasses: Sendable {
    @usableFromInline let first: AnyClass?
    @usableFromInline let others: [AnyClass]

    package static let none = AllowedClasses([])

    package init(_ classes: [AnyClass]) {
      first = nil
      others = classes
    }

    /// A single class, the common case, without an array.
    @inlinable @inline(__always)
    package init(_ one: AnyClass) {
      first = one
      others = []
    }

    package var all: [AnyClass] { first.map { [$0] + others } ?? others }

    package func contains(_ type: AnyClass) -> Bool {
      var next: AnyClass? = type
      while let ancestor = next {
        if ancestor == first || others.contains(where: { $0 == ancestor }) { return true }
        next = _getSuperclass(ancestor)
      }
      return false
    }
  }

  /// FoundationNetworking's classes, whose `init(coder:)` ends the process on missing or invalid fields.
  ///
  /// Known by name, because importing the module would load it into every program.
  package enum NetworkingClass {
    private static let module = "FoundationNetworking."

    /// The class or its nearest superclass that belongs to the module.
    package static func ancestor(of type: AnyClass) -> AnyClass? {
      var next: AnyClass? = type
      while let ancestor = next, ancestor != NSObject.self {
        if _typeName(ancestor, qualified: true).hasPrefix(module) { return ancestor }
        next = _getSuperclass(ancestor)
      }
      return nil
    }

    /// Whether the fields required by a class's `init(coder:)` are there.
    package static func isComplete(_ type: AnyClass, _ coder: any FoundationFields) -> Bool {
      func isURL(_ key: String) -> Bool { coder.decodeObject(of: NSURL.self, forKey: key)?.swiftValue != nil }
      func isNil(_ key: String) -> Bool { coder.decodeObject(forKey: key) == nil }
      func isNumber(_ key: String, _ range: ClosedRange<Int> = .min ... .max) -> Bool {
        coder.decodeObject(of: NSNumber.self, forKey: key).map { range.contains($0.intValue) } ?? false
      }
      func areTexts(_ key: String) -> Bool {
        guard let texts = coder.dictionary(allowing: [NSString.self], forKey: key)?.valuesByName() else { return false }
        return texts.values.allSatisfy { $0 is NSString }
      }
      switch _typeName(type, qualified: true).dropFirst(module.count) {
      case "URLCredential": return isNil("NS._persistence") || isNumber("NS._persistence", 0...3)
      case "URLResponse": return isURL("NS.url")
      case "HTTPURLResponse":
        return isURL("NS.url")
          && (!coder.containsValue(forKey: "NS.allHeaderFields") || areTexts("NS.allHeaderFields"))
      case "NSURLRequest", "NSMutableURLRequest":
        return ["NS.url", "NS.mainDocumentURL"].allSatisfy { isNil($0) || isURL($0) }
          && isNumber("NS._cachePolicy", 0...5) && isNumber("NS._networkServiceType", 0...5)
          && [
            "NS._timeoutInterval", "NS._allowsCellularAccess", "NS._httpShouldHandleCookies",
            "NS._httpShouldUsePipelining",
          ].allSatisfy { isNumber($0) }
      default: return false
      }
    }
  }
#endif
