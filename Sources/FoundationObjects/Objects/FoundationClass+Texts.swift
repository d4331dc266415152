#if !canImport(Darwin)
  import Foundation

  extension FoundationClass {
    static let texts: [FoundationClass] = [
      FoundationClass(NSURLQueryItem.self) { fields in
        fields.string(FieldKey("name", "NS.name")).map {
          NSURLQueryItem(name: $0, value: fields.string(FieldKey("value", "NS.value")))
        }
      },
      FoundationClass(NSPersonNameComponents.self) { fields in
        let name = NSPersonNameComponents()
        name.namePrefix = fields.string(FieldKey("namePrefix", "NS.namePrefix"))
        name.givenName = fields.string(FieldKey("givenName", "NS.givenName"))
        name.middleName = fields.string(FieldKey("middleName", "NS.middleName"))
        name.familyName = fields.string(FieldKey("familyName", "NS.familyName"))
        name.nameSuffix = fields.string(FieldKey("nameSuffix", "NS.nameSuffix"))
        name.nickname = fields.string(FieldKey("nickname", "NS.nickname"))
        let phonetic = FieldKey("phonetic", "NS.phoneticRepresentation")
        if let phonetic = fields.object(NSPersonNameComponents.self, phonetic) {
          name.phoneticRepresentation = phonetic as PersonNameComponents
        }
        return name
      },
      FoundationClass(NSRegularExpression.self) { fields in
        guard let pattern = fields.string(FieldKey("pattern", "NSPattern")),
          let options = UInt(exactly: fields.integer(FieldKey("options", "NSOptions")))
        else { return nil }
        // The archive's reader reports an invalid pattern, like every invalid object.
        return try? NSRegularExpression(pattern: pattern, options: NSRegularExpression.Options(rawValue: options))
      },
    ]
  }
#endif
