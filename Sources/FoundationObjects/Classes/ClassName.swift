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

    package static func isTopLevel(_ name: String) -> Bool {
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
#endif
