import Platform

extension ObjectMapping {
  /// The mapping of a class, validated.
  static func checked(_ type: any MappableObject.Type) throws(GarageError) -> ObjectMapping {
    let mapping = type.objectMapping
    let name = String(describing: type)
    if let attribute = mapping.identifyingAttribute, mapping.properties[attribute] == nil {
      throw .invalidMapping(name, "The identifyingAttribute \"\(attribute)\" is not among the mappings. Add it.")
    }
    if let reserved = mapping.properties.keys.sorted().first(where: { $0.hasPrefix(JSONValue.reservedPrefix) }) {
      throw .invalidMapping(
        name, "Names that begin with \"\(JSONValue.reservedPrefix)\" are the garage's own. Rename \"\(reserved)\".")
    }
    for (attribute, property) in mapping.properties where property.write == nil {
      throw .invalidMapping(
        name,
        """
        "\(attribute)" is not a variable, or its type is neither Codable nor a MappableObject nor an optional, an array or \
        a dictionary with String keys of these. Map another property.
        """)
    }
    return mapping
  }
}
