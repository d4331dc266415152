#if !canImport(Darwin)
  import Foundation

  extension FoundationClass {
    static let notifications: [FoundationClass] = [
      FoundationClass(NSError.self) { fields in
        guard let domain = fields.string(FieldKey("domain", "NSDomain")) else { return nil }
        let code = fields.integer(FieldKey("code", "NSCode"))
        let key = FieldKey("userInfo", "NSUserInfo")
        guard fields.contains(key) else { return NSError(domain: domain, code: code) }
        guard let contents = fields.dictionary(key, allowing: [NSError.self]) else { return nil }
        return contents.valuesByName().map { NSError(domain: domain, code: code, userInfo: $0) }
      },
      FoundationClass(NSNotification.self) { fields in
        guard let name = fields.string(FieldKey("name", "NS.name")) else { return nil }
        let object = fields.decodeObject(forKey: fields.spelling(of: FieldKey("object", "NS.object")))
        guard let contents = fields.dictionary(FieldKey("userInfo", "NS.userinfo")) else {
          return NSNotification(name: NSNotification.Name(name), object: object, userInfo: nil)
        }
        var userInfo: [AnyHashable: Any] = [:]
        for key in contents.allKeys {
          // Casting the dictionary ends the process if a key is a collection.
          guard let key = key as? NSObject, !(key is NSArray), !(key is NSDictionary) else { return nil }
          userInfo[(key as? NSString).map { AnyHashable($0 as String) } ?? AnyHashable(key)] = contents.object(
            forKey: key)
        }
        return NSNotification(name: NSNotification.Name(name), object: object, userInfo: userInfo)
      },
    ]
  }
#endif
