#if !canImport(Darwin)
  import Foundation
  import FoundationObjects

  /// What the coders know about a type. One is made for each type that is met, once in a process, and never freed.
  struct ClassRecord {
    /// Neither counted nor copied, so that threads that encode the same class share nothing they write to.
    typealias Reference = UnsafePointer<ClassRecord>

    let type: Any.Type
    let form: ValueForm
    /// For ``ValueForm/object``.
    let coding: (any NSCoding.Type)?
    /// For Swift's arrays.
    let elements: (any SwiftElements.Type)?
    let hashing: Hashing
    /// Where the class is in ``FoundationCoding/all``.
    let foundationCoding: Int
    let supportsSecureCoding: Bool
    let isNSObject: Bool
    /// The class that reads what this one wrote, if it is another one.
    let unarchivedAs: AnyClass?
    /// Whether it inherits from one of Foundation's classes other than `NSObject`.
    let extendsFoundation: Bool
    /// The class, or the superclass, that is one of FoundationNetworking's.
    let networkingClass: AnyClass?
    /// The name as a text item; empty: the class cannot be found by a name.
    let encodedName: UnsafeRawBufferPointer
    /// Why the class cannot be written.
    let problem: String

    /// The class, of a type that is one.
    var anyClass: AnyClass? { type as? AnyClass }
  }

  extension ClassRecord {
    /// Finds out about a type.
    ///
    /// - Parameter form: The form that the type is known to have.
    init(_ type: Any.Type, _ form: ValueForm?) {
      guard let anyClass = type as? AnyClass else {
        self.init(type, form: form ?? .swiftOther)
        return
      }
      let isFoundation = ClassName.isFoundation(anyClass)
      let foundationCoding = FoundationCoding.all.firstIndex { $0.type == anyClass }
      let coding = anyClass as? any NSCoding.Type
      let isSecure = (anyClass as? any NSSecureCoding.Type)?.supportsSecureCoding ?? false
      var problem = ""
      let found: ValueForm
      if let form {
        found = form
      } else if foundationCoding != nil {
        found = .foundation
      } else if isFoundation {
        found = .foundationCluster
      } else if coding != nil {
        found = .object
      } else {
        found = .unsupported
        problem = "does not conform to NSCoding"
      }
      var name = ClassName.name(of: anyClass)
      if found == .foundationCluster { name = nil }
      self.init(
        type, form: found, hashing: Hashing.of(anyClass), coding: found == .object ? coding : nil,
        foundationCoding: foundationCoding ?? -1,
        supportsSecureCoding: isSecure || found != .object && found != .unsupported,
        isNSObject: anyClass is NSObject.Type, unarchivedAs: found == .object ? Self.substitute(for: anyClass) : nil,
        extendsFoundation: ClassName.extendsFoundation(anyClass),
        networkingClass: found == .object ? NetworkingClass.ancestor(of: anyClass) : nil,
        encodedName: name.map(Self.encoded) ?? UnsafeRawBufferPointer(start: nil, count: 0), problem: problem)
    }

    private init(_ type: Any.Type, form: ValueForm) {
      self.init(
        type, form: form, hashing: .sound, coding: nil, foundationCoding: -1, supportsSecureCoding: true,
        isNSObject: false,
        unarchivedAs: nil, extendsFoundation: false, networkingClass: nil,
        encodedName: UnsafeRawBufferPointer(start: nil, count: 0),
        problem: "")
    }

    private init(
      _ type: Any.Type, form: ValueForm, hashing: Hashing, coding: (any NSCoding.Type)?, foundationCoding: Int,
      supportsSecureCoding: Bool, isNSObject: Bool, unarchivedAs: AnyClass?, extendsFoundation: Bool,
      networkingClass: AnyClass?, encodedName: UnsafeRawBufferPointer, problem: String
    ) {
      self.type = type
      self.form = form
      self.hashing = hashing
      self.coding = coding
      elements = type as? any SwiftElements.Type
      self.foundationCoding = foundationCoding
      self.supportsSecureCoding = supportsSecureCoding
      self.isNSObject = isNSObject
      self.unarchivedAs = unarchivedAs
      self.extendsFoundation = extendsFoundation
      self.networkingClass = networkingClass
      self.encodedName = encodedName
      self.problem = problem
    }

    private static func substitute(for type: AnyClass) -> AnyClass? {
      guard let substitute = (type as? NSObject.Type)?.classForKeyedUnarchiver(), substitute != type else { return nil }
      return substitute
    }

    private static func encoded(_ name: String) -> UnsafeRawBufferPointer {
      var writer = CBORWriter()
      writer.writeText(name)
      return writer.withBytes { bytes in
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
        copy.copyMemory(from: bytes)
        return UnsafeRawBufferPointer(copy)
      }
    }
  }
#endif
