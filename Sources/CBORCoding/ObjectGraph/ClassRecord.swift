#if !canImport(Darwin)
  import Foundation
  import FoundationObjects

  /// A type's properties for the coders, made once per process and never freed.
  struct ClassRecord {
    /// Not reference counted, so that threads encoding the same class share no written memory.
    typealias Reference = UnsafePointer<ClassRecord>

    let type: Any.Type
    let form: ValueForm
    let coding: (any NSCoding.Type)?
    let elements: (any SwiftElements.Type)?
    let hashing: Hashing
    /// The class's index in ``FoundationCoding/all``.
    let foundationCoding: Int
    let supportsSecureCoding: Bool
    let isNSObject: Bool
    /// The class that reads this one's archives, if different.
    let unarchivedAs: AnyClass?
    /// Whether it inherits from a Foundation class other than `NSObject`.
    let extendsFoundation: Bool
    /// The FoundationNetworking class that it is or inherits from.
    let networkingClass: AnyClass?
    /// The name as a text item; empty if the class cannot be found by name.
    let encodedName: UnsafeRawBufferPointer
    let problem: String

    var anyClass: AnyClass? { type as? AnyClass }
  }

  extension ClassRecord {
    /// - Parameter form: The type's form, if known.
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
