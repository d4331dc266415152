#if !canImport(Darwin)
  import Foundation

  extension FoundationCoding {
    static let notifications: [FoundationCoding] = [
      make(NSError.self, hashing: .broken) { error, coder in
        coder.encode(error.domain as String?, forKey: "domain")
        coder.encode(error.code, forKey: "code")
        if !error.userInfo.isEmpty { coder.encode(error.userInfo as Any?, forKey: "userInfo") }
      } decode: { coder in
        guard let domain = coder.string(forKey: "domain") else { return nil }
        let code = coder.decodeInteger(forKey: "code")
        guard coder.containsValue(forKey: "userInfo") else { return NSError(domain: domain, code: code) }
        guard let contents = coder.contents(NSDictionary.self, NSError.self, forKey: "userInfo")
        else { return nil }
        var userInfo: [String: Any] = [:]
        for key in contents.allKeys {
          guard let name = key as? NSString, let value = contents.object(forKey: key) else { return nil }
          userInfo[name as String] = value
        }
        return NSError(domain: domain, code: code, userInfo: userInfo)
      },
      make(NSNotification.self) { notification, coder in
        coder.encode(notification.name.rawValue as String?, forKey: "name")
        if let object = notification.object { coder.encode(object as Any?, forKey: "object") }
        if let userInfo = notification.userInfo { coder.encode(userInfo as Any?, forKey: "userInfo") }
      } decode: { coder in
        guard let name = coder.string(forKey: "name") else { return nil }
        let object = coder.decodeObject(forKey: "object")
        let userInfo = coder.contents(NSDictionary.self, forKey: "userInfo")
        return NSNotification(
          name: NSNotification.Name(name), object: object, userInfo: userInfo.map { swiftDictionary($0) })
      },
    ]

    /// To cast the dictionary ends the process if a key is an array.
    private static func swiftDictionary(_ dictionary: NSDictionary) -> [AnyHashable: Any] {
      var result: [AnyHashable: Any] = [:]
      for key in dictionary.allKeys {
        guard let object = key as? NSObject else { continue }
        result[(object as? NSString).map { AnyHashable($0 as String) } ?? AnyHashable(object)] = dictionary.object(
          forKey: key)
      }
      return result
    }
  }
#endif
