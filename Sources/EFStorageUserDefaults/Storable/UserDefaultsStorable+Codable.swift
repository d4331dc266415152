import EFStorageCore
public import Foundation
import FoundationArchives

extension UserDefaultsStorable where Self: Codable {
  public func asUserDefaultsStorable() -> Result<any AsIsUserDefaultsStorable, any Error> {
    Result { try JSON.data(of: self) }
  }

  public static func fromUserDefaults(_ userDefaults: UserDefaults, forKey key: String) -> Self? {
    LoadingErrors.noting(forKey: key) {
      try Data.loadFromUserDefaults(userDefaults, forKey: key).map { try JSON.value(Self.self, from: $0) }
    }
  }
}
