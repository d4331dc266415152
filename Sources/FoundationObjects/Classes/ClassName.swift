#if !canImport(Darwin)
  import Foundation
  import Platform

  /// Names of classes, by which another process finds them.
  ///
  /// `NSStringFromClass` ends the process for anything but a class at the top level of a module. So: Foundation's
  /// classes have the names they have in Objective-C, other classes at the top level are `Module.Class`, and nested
  /// and generic ones have their mangled name, without its prefix. Classes that are private to a file or local to a
  /// function have none that another process could find: they need one of the user's.
  package enum ClassName {
    package static func isFoundation(_ type: AnyClass) -> Bool {
      _typeName(type, qualified: true).hasPrefix("Foundation.")
    }

    /// Whether a class that is none of Foundation's inherits from one other than `NSObject`.
    package static func extendsFoundation(_ type: AnyClass) -> Bool {
      guard !isFoundation(type) else { return false }
      var next: AnyClass? = _getSuperclass(type)
      while let ancestor = next, ancestor != NSObject.self {
        if isFoundation(ancestor) { return true }
        next = _getSuperclass(ancestor)
      }
      return false
    }

    /// Whether `NSStringFromClass` has a name for it.
    package static func isNamedByFoundation(_ type: AnyClass) -> Bool { isTopLevel(_typeName(type, qualified: true)) }

    /// Returns the name, or `nil` if the class cannot be found by one.
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

    /// Returns the class of a name that an archive gives, unless it is one of Foundation's.
    ///
    /// The name is not trusted: only what ``name(of:)`` gives back is taken, so a class has one name.
    package static func find(_ name: String) -> AnyClass? {
      guard name.canBeTypeName, isMangled(name) || isTopLevel(name) && !name.hasPrefix("Foundation."),
        let type = _typeByName(name) as? AnyClass, self.name(of: type) == name
      else { return nil }
      return type
    }

    /// Whether there is a class that Foundation, or ``find(_:)``, finds by a name.
    package static func isKnown(_ name: String) -> Bool {
      name.canBeTypeName && (find(name) != nil || NSClassFromString(name) != nil)
    }

    /// Whether a name is that of a generic class with arguments. Looking one up makes what is never freed.
    package static func isGeneric(_ name: String) -> Bool { isMangled(name) && name.utf8.last == UInt8(ascii: "G") }

    /// The name of a module is an identifier, so none begins with a digit; mangled names begin with its length.
    private static func isMangled(_ name: String) -> Bool {
      guard let first = name.utf8.first else { return false }
      return first >= UInt8(ascii: "0") && first <= UInt8(ascii: "9")
    }

    /// Whether a name has the form of one at the top level of a module.
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
