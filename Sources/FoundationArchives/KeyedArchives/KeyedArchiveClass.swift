#if !canImport(Darwin)
  import Foundation
  import FoundationObjects

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

    /// Returns the class of a name that an archive gives, which is not trusted, or `nil` if there is none that is read.
    static func find(_ name: String) -> KeyedArchiveClass? {
      if let mapped = NSKeyedUnarchiver.class(forClassName: name) { return KeyedArchiveClass(substituting: mapped) }
      if let known = FoundationDecoding.byName[name] {
        return KeyedArchiveClass(type: known.type, kind: .foundation(known), extendsFoundation: false)
      }
      // Foundation's archiver writes classes at the top level of a module only.
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
