#if !canImport(Darwin)
  import Foundation
  import FoundationObjects

  /// How objects of a class are created.
  struct KeyedArchiveClass {
    enum Kind {
      case foundation(FoundationDecoding)
      case coded(any NSCoding.Type)
    }

    let type: AnyClass
    let kind: Kind
    /// Whether it is outside Foundation and inherits from a Foundation class other than `NSObject`.
    let extendsFoundation: Bool

    /// The class with an untrusted name from an archive, or `nil` if it is unsupported.
    static func find(_ name: String) -> KeyedArchiveClass? {
      if let mapped = NSKeyedUnarchiver.class(forClassName: name) { return KeyedArchiveClass(substituting: mapped) }
      if let known = FoundationDecoding.byName[name] {
        return KeyedArchiveClass(type: known.type, kind: .foundation(known), extendsFoundation: false)
      }
      // Foundation's archiver writes only top-level classes.
      guard let type = NetworkingClass.find(name) ?? (ClassName.isTopLevel(name) ? ClassName.find(name) : nil) else {
        return nil
      }
      return KeyedArchiveClass(substituting: type)
    }

    private init(type: AnyClass, kind: Kind, extendsFoundation: Bool) {
      self.type = type
      self.kind = kind
      self.extendsFoundation = extendsFoundation
    }

    private init?(substituting type: AnyClass) {
      var type: AnyClass = type
      if !ClassName.isFoundation(type), let substitute = (type as? NSObject.Type)?.classForKeyedUnarchiver() {
        type = substitute
      }
      if let known = FoundationDecoding.byType[ObjectIdentifier(type)] {
        self.init(type: known.type, kind: .foundation(known), extendsFoundation: false)
        return
      }
      guard !ClassName.isFoundation(type), let coding = type as? any NSCoding.Type else { return nil }
      self.init(type: type, kind: .coded(coding), extendsFoundation: ClassName.extendsFoundation(type))
    }
  }
#endif
