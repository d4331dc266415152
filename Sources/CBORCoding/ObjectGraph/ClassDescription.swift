#if !canImport(Darwin)
  import Foundation

  enum ClassDescription {
    static func name(of record: ClassRecord.Reference) -> String { name(of: record.pointee.type) }

    static func name(of type: Any.Type) -> String {
      let name = _typeName(type, qualified: true)
      return name.hasPrefix("Foundation.") ? String(name.dropFirst("Foundation.".count)) : name
    }
  }
#endif
